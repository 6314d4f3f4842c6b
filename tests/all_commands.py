"""Every command and task of the suite, for laws that hold of all of them."""

from __future__ import annotations

from dialtools.cli import _man
from dialtools.cli._command import Command, Group

LOADED: dict[str, Command | Group] = {name: entry.load() for name, entry in _man.COMMANDS.items()}


def _tasks(name: str, loaded: Command | Group) -> dict[str, Command]:
    if isinstance(loaded, Command):
        return {name: loaded}
    return {f"{name} {task}": command for task, command in loaded.commands().items()}


COMMANDS: dict[str, Command] = {
    title: command
    for name, loaded in LOADED.items()
    for title, command in _tasks(name, loaded).items()
}
"""By the words that call them, those of a group apart."""
EVERY_OPTION = [
    (name, spec)
    for name, command in COMMANDS.items()
    for spec in command.specs
    if not spec.positional
]

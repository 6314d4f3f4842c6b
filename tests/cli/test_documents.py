"""Generated documents say what the commands say."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

from dialtools.cli import _man
from dialtools.cli._command import Command, Group
from dialtools.options import specs

ROOT = Path(__file__).resolve().parents[2]
LOADED = {name: entry.load() for name, entry in _man.COMMANDS.items()}


def commands() -> list[Command]:
    """Every command, those of a group apart."""
    groups = [c for c in LOADED.values() if isinstance(c, Group)]
    subs = [sub for g in groups for sub in g.commands().values()]
    return [c for c in LOADED.values() if isinstance(c, Command)] + subs


@pytest.mark.parametrize("path", sorted(_man.documents()))
def test_man_pages_and_completions_are_those_of_the_commands(path: str):
    assert (ROOT / path).read_text(encoding="utf-8") == _man.documents()[path], "run `make man`"


def test_every_installed_command_has_a_launcher_and_a_man_page():
    scripts = {
        e.name
        for e in importlib.metadata.entry_points(group="console_scripts")
        if e.value.startswith("dialtools")
    }
    assert scripts == set(_man.COMMANDS) == {p.name for p in (ROOT / "bin").iterdir()}


def test_a_flag_means_the_same_in_every_command():
    shared = (
        "output",
        "quiet",
        "verbose",
        "limit",
        "seed",
        "from_",
        "to",
        "on_error",
        "overwrite",
        "config",
        "jobs",
        "device",
    )
    shorts: dict[str, set[str | None]] = {}
    for command in commands():
        for spec in specs(command.options):
            if spec.name in shared:
                shorts.setdefault(spec.name, set()).add(spec.short)
    assert all(len(kinds) == 1 for kinds in shorts.values()), shorts


def test_no_two_flags_of_a_command_share_a_letter():
    for command in commands():
        letters = [s.short for s in command.specs if s.short]
        assert len(letters) == len(set(letters)), command.name


def known_flags() -> set[str]:
    keys = {s.key for c in commands() for s in c.specs}
    return {f"--{key}" for key in keys} | {f"--no-{key}" for key in keys} | {"--help", "--version"}


def test_readme_names_only_flags_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip().startswith("dial-")]
    used = {flag for line in lines for flag in re.findall(r"(?<=\s)--[a-z][a-z-]*", line)}
    assert used <= known_flags(), used - known_flags()


@pytest.mark.parametrize("page", ["dialtools.7", "dialtools-methods.7", "dialtools-records.5"])
def test_man_pages_of_the_suite_name_only_flags_that_exist(page: str):
    text = (ROOT / "man" / page).read_text(encoding="utf-8").replace("\\-", "-")
    used = set(re.findall(r"--[a-z][a-z0-9-]*", text))
    assert used <= known_flags(), used - known_flags()

"""Help pages, usage lines and TOML of a command, all from its specs and docstring."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import click

from dialtools.errors import EXIT_CODES, ConfigError
from dialtools.options import Layer, Spec

if TYPE_CHECKING:
    from dialtools.cli._command import Command, Group

MANY = 16
GROUP_ORDER = ("Options", "Engine", "Input", "Output", "Run")


def sections(doc: str) -> tuple[str, str, list[str], str]:
    """Split a command's docstring into name, summary, example lines and the rest."""
    head, _, body = doc.strip().partition("\n")
    name, _, summary = head.partition(" - ")
    blocks = body.strip("\n").split("\n\n")
    examples = (
        [line.strip() for line in blocks[0].splitlines() if line.startswith("  ")] if blocks else []
    )
    rest = blocks[1:] if examples else blocks
    return name.strip(), summary.strip(), examples, dedent("\n\n".join(rest)).strip()


def default_text(spec: Spec) -> str:
    """Return what help says of the default of an option."""
    value = spec.shown if spec.shown is not None else spec.default
    if value is None or value is False or value == () or spec.positional:
        return ""
    if isinstance(value, bool):
        return "on"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def flag_text(spec: Spec) -> str:
    """Return the left column of help: `-o, --output FILE`."""
    flag = f"--[no-]{spec.key}" if spec.negatable else spec.flag
    names = f"{spec.short}, {flag}" if spec.short else flag
    if spec.type is bool:
        return names
    words = {int: "N", float: "X"}
    metavar = (
        "|".join(spec.choices)
        if spec.choices and len(spec.choices) <= 4
        else spec.metavar or words.get(spec.type, "TEXT")
    )
    return f"{names} {metavar}"


def help_text(spec: Spec) -> str:
    """Return the right column of help: the sentence, choices and default."""
    parts = [spec.help]
    if spec.choices and len(spec.choices) > MANY:
        parts.append(f"{', '.join(spec.choices[:6])}, ...; `dialtools formats` lists all")
    elif spec.choices and len(spec.choices) > 4:
        parts.append(f"one of {', '.join(spec.choices)}")
    text, default = "; ".join(parts), default_text(spec)
    return f"{text} [{default}]" if default else text


def grouped(all_specs: Sequence[Spec]) -> dict[str, list[Spec]]:
    """Return the flags by group, the command's own groups first."""
    names = dict.fromkeys(s.group for s in all_specs if not s.positional)
    own = [n for n in names if n not in GROUP_ORDER]
    order = [n for n in ("Options", *own, "Engine", "Input", "Output", "Run") if n in names]
    return {name: [s for s in all_specs if s.group == name and not s.positional] for name in order}


def page(command: Command) -> str:
    """Return the whole help page."""
    _, summary, examples, rest = sections(command.doc)
    out = click.HelpFormatter(width=min(100, max(60, get_terminal_size().columns)))
    out.write(f"{command.name} - {summary}\n\n" + usage(command) + "\n")
    if examples:
        out.write("\nExamples:\n" + "".join(f"  {line}\n" for line in examples))
    if rest:
        out.write(f"\n{rest}\n")
    for name, members in grouped(command.specs).items():
        with out.section(name):
            out.write_dl([(flag_text(s), help_text(s)) for s in members], col_max=34)
    with out.section("Exit status"):
        out.write_dl([(str(int(code)), text) for code, text in EXIT_CODES.items()])
    out.write(f"\nMemory: {command.memory}\n")
    return out.getvalue()


def usage(command: Command) -> str:
    """Return the usage line."""
    positional = "".join(f" [{s.metavar}]..." for s in command.specs if s.positional)
    return f"Usage: {command.name} [OPTIONS]{positional}"


def short_usage(command: Command) -> str:
    """Return what a command says that was called without input on a terminal."""
    _, _, examples, _ = sections(command.doc)
    example = examples[0].split("  #")[0] if examples else command.name
    advice = f"Name a file, or pipe records in; {command.name} --help tells more."
    return f"{usage(command)}\n  e.g. {example}\n{advice}\n"


def group_page(group: Group) -> str:
    """Return the help page of a command with sub-commands."""
    _, summary, examples, rest = sections(group.doc)
    out = click.HelpFormatter(width=100)
    out.write(f"{group.name} - {summary}\n\nUsage: {group.name} TASK [OPTIONS] [INPUT]...\n")
    out.write("\nExamples:\n" + "".join(f"  {line}\n" for line in examples))
    if rest:
        out.write(f"\n{rest}\n")
    with out.section("Tasks"):
        out.write_dl([(name, entry.summary) for name, entry in group.table.items()])
    out.write(f"\n{group.name} TASK --help shows the options of a task.\n")
    return out.getvalue()


def toml(all_specs: Sequence[Spec], options: Any, origins: dict[str, str]) -> str:
    """Return the resolved options as TOML, each with the source of its value."""
    lines = []
    for spec in all_specs:
        value = getattr(options, spec.name)
        if spec.positional or spec.name in ("config", "print_config"):
            continue
        origin = origins[spec.key]
        lines.append(
            f"# {spec.key} is not set"
            if value is None
            else f"{spec.key} = {toml_value(value)}  # {origin}"
        )
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """Return a scalar or a tuple in TOML, whose literals for these are JSON's."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def read_toml(path: str) -> Layer:
    """Read a --config file.

    Raises:
        ConfigError: if it is missing or not TOML.
    """
    import tomllib

    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(error.strerror or str(error), where=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not TOML: {error}", where=path) from None
    return Layer(path, values)

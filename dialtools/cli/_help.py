"""Help pages, usage lines and TOML of a command, all from its specs and docstring."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dialtools.errors import EXIT_CODES, ConfigError
from dialtools.options import Layer, Spec, read_toml
from dialtools.shown import STEERING, printable, quoted

if TYPE_CHECKING:
    from dialtools.cli._command import Command, Group

FIRST_GROUP = "Options"
LAST_GROUPS = ("Input", "Output", "Run")
"""Groups of options that most commands share stand after the command's own."""

BESIDE_THE_FLAG = 32
"""Columns of choices that stand beside the flag; more are named in the text."""
MANY = 16
"""Choices that help names; of more it names the first, and the man page all."""
NAMED = 6

NARROWEST, WIDEST = 60, 100
"""Columns of a help page, whatever the terminal."""
FLAG_COLUMNS = 34


class Sections(NamedTuple):
    """A command's docstring, taken apart."""

    name: str
    summary: str
    examples: list[str]
    rest: str


def sections(doc: str) -> Sections:
    """Take a docstring apart: `name - summary`, indented examples, then all the rest.

    An example that ends a line with a backslash goes on in the next.
    """
    head, _, body = doc.strip().partition("\n")
    name, _, summary = head.partition(" - ")
    blocks = body.strip("\n").split("\n\n")
    has_examples = blocks[0].startswith("  ")
    examples = re.split(r"(?<!\\)\n", dedent(blocks[0])) if has_examples else []
    rest = blocks[1:] if has_examples else blocks
    return Sections(name.strip(), summary.strip(), examples, dedent("\n\n".join(rest)).strip())


def default_text(spec: Spec) -> str:
    """Return what help says of the default of an option."""
    value = spec.shown if spec.shown is not None else spec.default
    if value is None or value is False or spec.positional:
        return ""
    if value is True:
        return "on"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def flag_names(spec: Spec) -> str:
    """Return e.g. `-o, --output`."""
    flag = f"--[no-]{spec.key}" if spec.negatable else spec.flag
    return f"{spec.short}, {flag}" if spec.short else flag


def value_name(spec: Spec) -> str:
    """Return what stands for the value: `FILE`, or short choices; "" for a switch."""
    if spec.type is bool:
        return ""
    if _choices_beside_flag(spec):
        return "|".join(spec.choices or ())
    names = {int: "N", float: "X"}
    return spec.metavar or names.get(spec.type, "NAME" if spec.choices else "TEXT")


def help_text(spec: Spec, *, all_choices: bool = False) -> str:
    """Return the right column of help: the sentence, choices and default."""
    text = spec.help
    if spec.choices and not _choices_beside_flag(spec):
        cut = len(spec.choices) > MANY and not all_choices
        names = [*spec.choices[:NAMED], "..."] if cut else spec.choices
        text += f"; {'some' if spec.lists else 'one'} of {', '.join(names)}"
    default = default_text(spec)
    return f"{text} [{default}]" if default else text


def _choices_beside_flag(spec: Spec) -> bool:
    # a list of choices has no room for the bar that parts one choice from the other
    return bool(spec.choices) and not spec.lists and len("|".join(spec.choices)) <= BESIDE_THE_FLAG


def grouped(all_specs: Sequence[Spec]) -> dict[str, list[Spec]]:
    """Return the flags by group, the command's own groups first."""
    groups: dict[str, list[Spec]] = {FIRST_GROUP: []}
    for spec in all_specs:
        if not spec.positional:
            groups.setdefault(spec.group, []).append(spec)
    for name in LAST_GROUPS:
        if name in groups:
            groups[name] = groups.pop(name)
    return {name: members for name, members in groups.items() if members}


def page(command: Command) -> str:
    """Return the whole help page."""
    doc = sections(command.doc)
    out = _formatter(doc)
    out.write(f"\n{usage(command)}\n")
    _write_doc(out, doc)
    for name, members in grouped(command.specs).items():
        rows = [(f"{flag_names(s)} {value_name(s)}".rstrip(), help_text(s)) for s in members]
        with out.section(name):
            out.write_dl(rows, col_max=FLAG_COLUMNS)
    with out.section("Exit status"):
        out.write_dl([(str(int(code)), text) for code, text in EXIT_CODES.items()])
    out.write("\n")
    out.write_text(f"Memory: {command.memory}")
    return out.getvalue()


def group_page(group: Group) -> str:
    """Return the help page of a command with sub-commands."""
    doc = sections(group.doc)
    out = _formatter(doc)
    out.write(f"\nUsage: {group.name} TASK [OPTIONS] [INPUT]...\n")
    _write_doc(out, doc)
    with out.section("Tasks"):
        out.write_dl([(name, entry.summary) for name, entry in group.table.items()])
    out.write(f"\n{group.name} TASK --help shows the options of a task.\n")
    return out.getvalue()


def _formatter(doc: Sections) -> click.HelpFormatter:
    """Return the page of a command with its first line, for the width of the terminal."""
    out = click.HelpFormatter(width=min(WIDEST, max(NARROWEST, get_terminal_size().columns)))
    out.write_text(f"{doc.name} - {doc.summary}")
    return out


def _write_doc(out: click.HelpFormatter, doc: Sections) -> None:
    if doc.examples:
        out.write("\nExamples:\n" + indent("\n".join(doc.examples), "  ") + "\n")
    if doc.rest:
        out.write(f"\n{doc.rest}\n")


def usage(command: Command) -> str:
    """Return the usage line."""
    positional = "".join(f" [{s.metavar}]..." for s in command.specs if s.positional)
    return f"Usage: {command.name} [OPTIONS]{positional}"


def short_usage(command: Command) -> str:
    """Return what a command says that was called without input on a terminal."""
    examples = sections(command.doc).examples
    example = examples[0].split("  #")[0] if examples else command.name
    advice = f"Name a file, or pipe records in; {command.name} --help tells more."
    return f"{usage(command)}\n  e.g. {example}\n{advice}\n"


def toml(all_specs: Sequence[Spec], options: Any, origins: Mapping[str, str]) -> str:
    """Return the resolved options as TOML, each with the source of its value."""
    lines: list[str] = []
    for spec in all_specs:
        value = getattr(options, spec.name)
        if spec.positional or spec.name in ("config", "print_config"):
            continue
        if value is None:
            lines.append(f"# {spec.key} is not set\n")
        else:
            lines.append(f"{spec.key} = {toml_value(value)}  # {printable(origins[spec.key])}\n")
    return "".join(lines)


def toml_value(value: Any) -> str:
    """Return a scalar or a tuple in TOML, whose literals for these are JSON's.

    Raises:
        ConfigError: for a file's name that is not UTF-8, as TOML is.
    """
    text = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{quoted(value)} is not UTF-8, and TOML has no other text") from None
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def read_config(path: str) -> Layer:
    """Read a --config file.

    Raises:
        ConfigError: if it is missing or not TOML.
    """
    try:
        return Layer(path, read_toml(path))
    except OSError as error:
        raise ConfigError(error.strerror or str(error), where=path) from None

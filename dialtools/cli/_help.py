"""Help pages, usage lines and TOML of a command, all from its specs and docstring."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from shutil import get_terminal_size
from textwrap import dedent, fill, indent, wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from dialtools import __version__
from dialtools.errors import EXIT_CODES, ConfigError
from dialtools.options import Spec
from dialtools.shown import STEERING, printable, quoted

if TYPE_CHECKING:
    from dialtools.cli._command import Command, Group

ASKS_HELP = ("--help", "-h")

LAST_GROUPS = ("Input", "Output", "Engine", "Run")
"""Groups of options that most commands share stand after the command's own."""

FOREMOST = ("train", "test", "validation", "from", "output", "to", "resume", "overwrite", "seed")
"""Of these groups the options that stand first in each, in every command."""

BESIDE_THE_FLAG = 32
"""Columns of choices that stand beside the flag; more are named in the text."""
MANY = 24
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
    details: dict[str, str]


def sections(doc: str) -> Sections:
    """Take a docstring apart: `name - summary`, indented examples, then all the rest.

    An example that ends a line with a backslash goes on in the next. What follows a paragraph of
    one word or a few and a colon (`Tables:`) is a detail: pages show it behind the options.
    """
    head, _, body = doc.strip().partition("\n")
    name, _, summary = head.partition(" - ")
    blocks = body.strip("\n").split("\n\n")
    has_examples = blocks[0].startswith("  ")
    examples = re.split(r"(?<!\\)\n", dedent(blocks[0])) if has_examples else []
    rest = dedent("\n\n".join(blocks[1:] if has_examples else blocks)).strip()
    before, *titled = re.split(r"(?:^|\n\n)([A-Z][^\n.:]*):\n\n", rest)
    details = dict(zip(titled[::2], titled[1::2], strict=True))
    assert 2 * len(details) == len(titled), f"{name}: a title stands twice"
    return Sections(name.strip(), summary.strip(), examples, before, details)


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
    told = set(re.findall(r"[\w-]+", text))
    if spec.choices and not _choices_beside_flag(spec) and not told.issuperset(spec.choices):
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
    groups: dict[str, list[Spec]] = {"Options": []}
    for spec in all_specs:
        if not spec.positional:
            groups.setdefault(spec.group, []).append(spec)
    for name in LAST_GROUPS:
        if name in groups:
            groups[name] = sorted(groups.pop(name), key=_place)
    return {name: members for name, members in groups.items() if members}


def _place(spec: Spec) -> int:
    return FOREMOST.index(spec.key) if spec.key in FOREMOST else len(FOREMOST)


def answer(argv: Sequence[str], name: str, page: Callable[[], str]) -> str:
    """Return what answers a line that begins with --help or --version, for others nothing.

    Most lines that ask do, and need no parser.
    """
    word = argv[0] if argv else ""
    if word == "--version":
        return f"{name} {__version__}\n"
    return page() if word in ASKS_HELP else ""


def page(command: Command) -> str:
    """Return the whole help page."""
    width = _width()
    out = [*_head(sections(command.doc), usage(command), width)]
    for name, members in grouped(command.specs).items():
        rows = [(f"{flag_names(s)} {value_name(s)}".rstrip(), help_text(s)) for s in members]
        out += _section(name, rows, width)
    out += _details(sections(command.doc))
    statuses = [(str(int(code)), text) for code, text in EXIT_CODES.items()]
    out += _section("Exit status", statuses, width)
    out += ["", fill(f"Memory: {command.memory}", width)]
    return "\n".join(out) + "\n"


def group_page(group: Group) -> str:
    """Return the help page of a command with sub-commands."""
    width = _width()
    usage_line = f"Usage: {group.name} TASK [OPTIONS] [INPUT]..."
    out = [*_head(sections(group.doc), usage_line, width)]
    out += _section("Tasks", [(name, entry.summary) for name, entry in group.table.items()], width)
    out += _details(sections(group.doc))
    out += ["", f"{group.name} TASK --help shows the options of a task."]
    return "\n".join(out) + "\n"


def _width() -> int:
    """Return the columns of a page on this terminal."""
    return min(WIDEST, max(NARROWEST, get_terminal_size().columns))


def _head(doc: Sections, usage_line: str, width: int) -> Iterator[str]:
    """Yield the lines of a page down to its first section."""
    yield from (fill(f"{doc.name} - {doc.summary}", width), "", usage_line)
    if doc.examples:
        yield from ("", "Examples:", indent("\n".join(doc.examples), "  "))
    if doc.rest:
        yield from ("", doc.rest)


def _details(doc: Sections) -> Iterator[str]:
    """Yield the lines of what a page tells behind its options."""
    for title, text in doc.details.items():
        yield from ("", f"{title}:", indent(text, "  "))


def _section(heading: str, rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Yield the lines of a section: its terms on the left, their texts beside or below them."""
    left = min(max(len(term) for term, _ in rows), FLAG_COLUMNS) + 2
    yield from ("", f"{heading}:")
    for term, text in rows:
        lines = wrap(text, width - left - 2, break_on_hyphens=False)
        if len(term) > left - 2:
            lines.insert(0, "")
        yield f"  {term:{left}}{lines[0]}".rstrip()
        yield from (" " * (left + 2) + line for line in lines[1:])


def usage(command: Command) -> str:
    """Return the usage line."""
    positional = "".join(f" {s.usage}" for s in command.specs if s.positional)
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

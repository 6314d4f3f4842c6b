"""Man pages and shell completions, generated from the commands themselves.

python -m dialtools.cli._man        writes man/ and completions/ of the checkout
"""

from __future__ import annotations

import sys
from pathlib import Path

from dialtools import __version__
from dialtools.catalog import Entry
from dialtools.cli._command import Command, Group
from dialtools.cli._help import flag_text, grouped, help_text, sections
from dialtools.cli._records_page import records_page
from dialtools.errors import EXIT_CODES

COMMANDS = {
    "dial-pairs": Entry("dialtools.cli.pairs:main", "dialogues to positive pairs"),
    "dial-augment": Entry(
        "dialtools.cli.augment:main", "utterances to templates, and to more utterances"
    ),
    "dial-freq": Entry(
        "dialtools.cli.freq:main", "utterances to counts, and pairs to weighted pairs"
    ),
    "dial-train": Entry("dialtools.cli.train:main", "pairs to a trained encoder"),
    "dial-embed": Entry("dialtools.cli.embed:main", "text to embedding files"),
    "dial-eval": Entry("dialtools.cli.eval:main", "embedding files to scores"),
    "dialtools": Entry("dialtools.cli.dialtools:main", "the formats and corpora that can be read"),
}
SHELLS = {"bash": "bash/{0}", "zsh": "zsh/_{0}", "fish": "fish/{0}.fish"}


def man_page(command: Command | Group) -> str:
    """Return the page of a command in roff (man macros)."""
    name, summary, examples, rest = sections(command.doc)
    lines = [
        f'.TH {name.upper()} 1 "" "dialtools {__version__}" "dialtools"',
        ".SH NAME",
        _text(f"{name} - {summary}"),
    ]
    lines += [".SH SYNOPSIS", *(_synopsis(command))]
    if examples:
        lines += [".SH EXAMPLES", ".nf", *map(_text, examples), ".fi"]
    if rest:
        lines += [".SH DESCRIPTION", ".nf", *map(_text, rest.splitlines()), ".fi"]
    if isinstance(command, Group):
        for task, sub in command.commands().items():
            lines += [
                f'.SH "{task.upper()}"',
                _text(sections(sub.doc)[1]),
                *_options(sub, ".SS"),
                ".PP",
                _text(f"Memory: {sub.memory}"),
            ]
    else:
        lines += [*_options(command, ".SH"), ".SH MEMORY", _text(command.memory)]
    lines.append(".SH EXIT STATUS")
    for code, text in EXIT_CODES.items():
        lines += [".TP", f"\\fB{int(code)}\\fR", _text(text)]
    others = [f"\\fB{other}\\fR(1)" for other in COMMANDS if other != name]
    return "\n".join([*lines, ".SH SEE ALSO", ", ".join(others), ""])


def _synopsis(command: Command | Group) -> list[str]:
    if isinstance(command, Group):
        return [f"\\fB{command.name}\\fR \\fITASK\\fR [\\fIOPTIONS\\fR] [\\fIINPUT\\fR]..."]
    positional = "".join(f" [\\fI{s.metavar}\\fR]..." for s in command.specs if s.positional)
    return [f"\\fB{command.name}\\fR [\\fIOPTIONS\\fR]{positional}"]


def _options(command: Command, heading: str) -> list[str]:
    lines = []
    for group, members in grouped(command.specs).items():
        lines.append(f'{heading} "{group.upper()}"')
        for spec in members:
            lines += [".TP", f"\\fB{_text(flag_text(spec))}\\fR", _text(help_text(spec))]
    return lines


def _text(line: str) -> str:
    escaped = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in ".'" else escaped


def completion(command: Command | Group, shell: str) -> str:
    """Return the completion script of a command for bash, zsh or fish."""
    from click.shell_completion import get_completion_class

    parser = command.click_command()
    kind = get_completion_class(shell)
    script = kind(parser, {}, command.name, f"_{command.name.replace('-', '_').upper()}_COMPLETE")
    return kind.source_template % script.source_vars()


def documents() -> dict[str, str]:
    """Return every generated file: its path in the checkout and its text."""
    files = {"man/dialtools-records.5": records_page()}
    for name, entry in COMMANDS.items():
        loaded = entry.load()
        files[f"man/{name}.1"] = man_page(loaded)
        files.update(
            {
                f"completions/{path.format(name)}": completion(loaded, shell)
                for shell, path in SHELLS.items()
            }
        )
    return files


def main(root: Path) -> None:
    """Write the generated files under the root of a checkout."""
    for path, text in documents().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

"""A table of text to a person, a paper or a machine: on a screen, in Markdown, LaTeX or CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialtools.cli._run import Run

SUFFIXES = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".jsonl": "jsonl"}
NAMES = 3
"""The first columns, which name a row, stand left; the others are numbers and stand right."""


@dataclass(frozen=True)
class Grid:
    """Head and rows as plain text, of as many cells each; a rule stands where the first cell changes."""

    title: str
    head: list[str]
    rows: list[list[str]]


def write_table(
    grid: Grid,
    records: Callable[[], Sequence[dict[str, Any]]],
    *,
    output: str,
    to: str | None,
    overwrite: bool,
    run: Run,
) -> None:
    """Write a table as asked for, by the suffix of the file, else for the screen; or its records as JSONL or CSV."""
    import sys

    from dialtools.streams.sinks import open_output, write_records

    screen = output == "-" and sys.stdout.isatty()
    kind = to or SUFFIXES.get(Path(output).suffix, "table" if screen else "jsonl")
    if kind == "jsonl":
        write_records(iter(records()), output, to="jsonl", overwrite=overwrite)
    else:
        text = as_csv(records()) if kind == "csv" else WRITERS[kind](grid, run)
        with open_output(output, overwrite=overwrite) as file:
            file.write(text.encode())
    sys.stdout.flush()


def as_screen(grid: Grid, run: Run) -> str:
    """Return the table for the width of the terminal; elsewhere nothing is cut."""
    import sys
    from io import StringIO
    from shutil import get_terminal_size

    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=escape(_plain(grid.title)),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for i, name in enumerate(grid.head):
        table.add_column(
            escape(_plain(name)), justify="left" if i < NAMES else "right", no_wrap=i < NAMES
        )
    before = None
    for line in grid.rows:
        if before is not None and line[0] != before:
            table.add_section()
        table.add_row(
            *(escape(_plain(cell)) for cell in ("" if line[0] == before else line[0], *line[1:]))
        )
        before = line[0]
    out = StringIO()
    width = get_terminal_size((200, 24)).columns if sys.stdout.isatty() else 10_000
    Console(
        file=out, width=width, no_color=not run.colored, force_terminal=run.colored, highlight=False
    ).print(table)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def as_markdown(grid: Grid, _run: Run) -> str:
    rule = ["---"] * NAMES + ["---:"] * (len(grid.head) - NAMES)
    marked = [[_escaped(cell, MARKDOWN) for cell in line] for line in (grid.head, *grid.rows)]
    lines = [marked[0], rule, *marked[1:]]
    return (
        "".join(f"| {' | '.join(line)} |\n" for line in lines)
        + f"\n{_escaped(grid.title, MARKDOWN)}\n"
    )


def as_latex(grid: Grid, _run: Run) -> str:
    first, *body = (
        " & ".join(_escaped(cell, LATEX) for cell in line) + " \\\\"
        for line in (grid.head, *grid.rows)
    )
    return "\n".join(
        [
            f"% {' '.join(grid.title.split())}; needs \\usepackage{{booktabs}}",
            f"\\begin{{tabular}}{{{'l' * NAMES}{'r' * (len(grid.head) - NAMES)}}}",
            "\\toprule",
            first,
            "\\midrule",
            *body,
            "\\bottomrule",
            "\\end{tabular}",
            "",
        ]
    )


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return records as CSV with the columns that any of them has."""
    import csv
    from io import StringIO

    out = StringIO()
    writer = csv.DictWriter(
        out, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


MARKDOWN = {c: f"\\{c}" for c in "\\|`*_<>[]#"}
LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "±": "$\\pm$",
    "–": "--",
    "−": "$-$",
    "<": "$<$",
    ">": "$>$",
}


def _plain(text: str) -> str:
    """Return a text on one line, without what would steer a terminal."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())


def _escaped(text: str, table: dict[str, str]) -> str:
    """Return a text as a cell of one line that means what it says."""
    return "".join(table.get(c, c) for c in _plain(text))


WRITERS: dict[str, Callable[[Grid, Run], str]] = {
    "table": as_screen,
    "markdown": as_markdown,
    "latex": as_latex,
}

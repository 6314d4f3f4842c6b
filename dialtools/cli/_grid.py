"""One kind of table for all commands: on a screen, in Markdown, LaTeX or CSV.

The only module that draws with rich's tables.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TextIO

from dialtools.cli._run import Run
from dialtools.shown import printable

if TYPE_CHECKING:
    from rich.table import Table

SUFFIXES = {".md": "markdown", ".tex": "latex", ".csv": "csv"}
UNCUT = 10_000
"""Columns of a screen that is none: a table in a file is not cut."""

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


@dataclass(frozen=True)
class Grid:
    """Head and rows as plain text, of as many cells each.

    Attributes:
        names: the first columns, which name a row: they stand left and are never cut.
        texts: the columns after them that stand left too; all others are numbers and stand right.

    Where rows next to each other begin with the same cell, it is shown once, and a rule parts
    them from the others.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    names: int = 1
    texts: int = 0

    def stands_left(self, column: int) -> bool:
        return column < self.names + self.texts

    @property
    def grouped(self) -> bool:
        """Whether some rows next to each other begin with the same cell."""
        first = [row[0] for row in self.rows]
        return any(a == b for a, b in pairwise(first))


def on_screen(output: str) -> bool:
    """Return whether a report is for a person: it goes to stdout, and stdout is a terminal."""
    return output == "-" and sys.stdout.isatty()


def table_format(output: str, to: str | None) -> str:
    """Return the format by --to, else by the suffix of the file, else of a terminal's table, JSONL.

    Raises:
        ConfigError: if the suffix tells of another.
    """
    from dialtools.streams.formats import last_suffix
    from dialtools.streams.options import TABLE_FORMATS
    from dialtools.streams.sinks import output_format

    by_suffix = SUFFIXES.get(last_suffix(output) or "")
    chosen = to or by_suffix or ("table" if on_screen(output) else None)
    return chosen or output_format(output, None, formats=TABLE_FORMATS)


def show(grid: Grid, run: Run) -> None:
    """Print a table on stdout."""
    sys.stdout.write(as_screen(grid, run))
    sys.stdout.flush()


def write_table(
    grid: Grid,
    records: Callable[[], Iterable[dict[str, Any]]],
    run: Run,
    *,
    to: str | None = None,
    output: str | None = None,
) -> None:
    """Write a table, or its records as JSONL or CSV.

    Args:
        to: the format; default: that of the file (`table_format`).
        output: the file; default: that of -o, and stdout for a command without it.
    """
    from dialtools.streams.sinks import open_output, write_records

    path: str = output or getattr(run.options, "output", "-")
    overwrite = getattr(run.options, "overwrite", False)
    kind = table_format(path, to)
    if kind == "jsonl":
        write_records(iter(records()), path, to="jsonl", overwrite=overwrite)
    else:
        text = as_csv(list(records())) if kind == "csv" else WRITERS[kind](grid, run)
        if on_screen(path) and kind == "csv":
            text = "".join(f"{printable(line)}\n" for line in text.splitlines())
        with open_output(path, overwrite=overwrite) as file:
            file.write(text.encode())
    sys.stdout.flush()


def as_screen(grid: Grid, run: Run, stream: TextIO | None = None) -> str:
    """Return the table for the width of the terminal; elsewhere nothing is cut.

    Args:
        stream: what it is written to; default: stdout.
    """
    from rich.console import Console

    out = StringIO()
    screen = sys.stdout if stream is None else stream
    colored = run.colored_on(screen)
    console = Console(
        file=out,
        width=_columns(screen),
        no_color=not colored,
        force_terminal=colored,
        highlight=False,
    )
    console.print(_drawn(grid))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _columns(stream: TextIO) -> int:
    if not stream.isatty():
        return UNCUT
    if stream is not sys.stdout:
        with suppress(OSError):
            return os.get_terminal_size(stream.fileno()).columns or UNCUT
    return get_terminal_size((200, 24)).columns


def _drawn(grid: Grid) -> Table:
    """Return the table as rich draws it."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(_plain(grid.title)) if grid.title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for i, name in enumerate(grid.head):
        justify = "left" if grid.stands_left(i) else "right"
        table.add_column(Text(_plain(name)), justify=justify, no_wrap=i < grid.names)
    before = None
    for row in grid.rows:
        cells = [Text(_plain(cell)) for cell in row]
        if row[0] == before:
            cells[0] = Text()
        elif grid.grouped and before is not None:
            table.add_section()
        table.add_row(*cells)
        before = row[0]
    return table


def as_markdown(grid: Grid, _run: Run) -> str:
    """Return the table in Markdown, its title below."""
    rule = ["---" if grid.stands_left(i) else "---:" for i in range(len(grid.head))]
    head = _escaped_row(grid.head, MARKDOWN)
    rows = [_escaped_row(row, MARKDOWN) for row in grid.rows]
    lines = [f"| {' | '.join(row)} |\n" for row in (head, rule, *rows)]
    return "".join(lines) + f"\n{_escaped(grid.title, MARKDOWN)}\n"


def as_latex(grid: Grid, _run: Run) -> str:
    """Return the table for LaTeX with booktabs, its title as a comment above."""
    rows = [" & ".join(_escaped_row(row, LATEX)) for row in (grid.head, *grid.rows)]
    # without {} these would belong to the line end before them
    head, *body = [f"{'{}' * row.startswith(('[', '*'))}{row} \\\\" for row in rows]
    columns = "".join("l" if grid.stands_left(i) else "r" for i in range(len(grid.head)))
    lines = [
        f"% {_plain(grid.title)}; needs \\usepackage{{booktabs}}",
        f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule",
        head,
        "\\midrule",
        *body,
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "".join(f"{line}\n" for line in lines)


def as_csv(records: Sequence[dict[str, Any]]) -> str:
    """Return records as CSV with the columns that any of them has; lists and objects as JSON."""
    import orjson

    out = StringIO()
    columns = dict.fromkeys(name for record in records for name in record)
    writer = csv.DictWriter(out, list(columns), lineterminator="\n")
    writer.writeheader()
    for record in records:
        nested = {k: orjson.dumps(v).decode() for k, v in record.items() if type(v) in (list, dict)}
        writer.writerow(record | nested)
    return out.getvalue()


def two_digits(value: float | None) -> str:
    """Return a number for a table; nothing for None and NaN."""
    return "" if value is None or value != value else f"{value:.2f}"


def _plain(text: str) -> str:
    """Return a text on one line, without what would steer a terminal."""
    return printable(" ".join(text.split()))


def _escaped_row(cells: Iterable[str], table: dict[str, str]) -> list[str]:
    return [_escaped(cell, table) for cell in cells]


def _escaped(text: str, table: dict[str, str]) -> str:
    """Return a text as a cell of one line that means what it says."""
    return "".join(table.get(c, c) for c in _plain(text))


WRITERS: dict[str, Callable[[Grid, Run], str]] = {
    "table": as_screen,
    "markdown": as_markdown,
    "latex": as_latex,
}

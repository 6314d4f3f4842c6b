"""One kind of table for all commands."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

from dialtools.cli._grid import Grid, as_csv, as_latex, as_markdown, as_screen

PACKAGE = Path(__file__).resolve().parents[2] / "dialtools"
PLAIN = SimpleNamespace(colored_on=lambda stream: False)
GRID = Grid(
    head=["task", "set", "score"],
    rows=[["intent", "a_b", "9.00"], ["intent", "c", "10.00"], ["oos", "[bold]\x1b[2J", "1.00"]],
    title="percent",
    names=2,
)


def test_numbers_stand_right_and_what_is_the_same_above_is_said_once():
    assert as_screen(GRID, PLAIN).splitlines()[:6] == [
        "percent",
        "",
        " task    set            score",
        " ─────────────────────────────",
        " intent  a_b             9.00",
        "         c              10.00",
    ]


def test_what_comes_from_data_neither_steers_a_terminal_nor_a_table():
    assert "[bold]\\x1b[2J" in as_screen(GRID, PLAIN)
    assert "\\[bold\\]\\\\x1b\\[2J" in as_markdown(GRID, PLAIN)
    assert "a\\_b" in as_latex(GRID, PLAIN)


def test_no_row_of_latex_is_taken_for_an_argument_of_the_line_end_before_it():
    rows = [[name, "1"] for name in ("a", "[UNK]", "*bert")]
    lines = as_latex(Grid(head=["[m]", "n"], rows=rows), PLAIN).splitlines()
    assert not [line for line in lines if line.startswith(("[", "*"))]
    assert lines[-5:-2] == ["a & 1 \\\\", "{}[UNK] & 1 \\\\", "{}*bert & 1 \\\\"]


def test_columns_of_text_stand_left_in_every_kind_of_table():
    grid = Grid(head=["name", "what", "n"], rows=[["a", "b", "1"]], names=1, texts=1)
    assert "| --- | --- | ---: |" in as_markdown(grid, PLAIN)
    assert "\\begin{tabular}{llr}" in as_latex(grid, PLAIN)


def test_csv_has_the_columns_that_any_record_has():
    assert as_csv([{"a": 1}, {"b": "x,y"}]) == 'a,b\n1,\n,"x,y"\n'


def test_no_other_module_draws_tables():
    drawing = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if re.search(r"rich\.table|rich import .*Table", path.read_text(encoding="utf-8"))
    ]
    assert drawing == ["_grid.py"]

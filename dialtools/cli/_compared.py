"""A comparison to a person, a paper or a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dialtools.cli._grid import Grid, write_table
from dialtools.cli._run import Run
from dialtools.cli._scores import interval_cell
from dialtools.eval.options.compare import CompareOptions
from dialtools.metrics import CORRECTIONS
from dialtools.streams.tally import counted

if TYPE_CHECKING:
    from dialtools.eval.compare.comparison import Comparison, Difference, Value

UNKNOWN = "–"


def report_comparison(comparison: Comparison, options: CompareOptions, run: Run) -> None:
    """Say what could not be compared, write the comparison, then check the gate."""
    from dialtools.eval.compare.outcome import check_gate, records, refuse_nothing, untested_notes

    for note in untested_notes(comparison):
        run.warn(note)
    refuse_nothing(comparison)
    write_table(grid(comparison), lambda: records(comparison), run, to=options.to)
    if options.fail_if_worse is not None:
        check_gate(comparison, options.fail_if_worse)


def title(comparison: Comparison) -> str:
    """Return what the numbers of a table are."""
    if comparison.alone:
        return "percent"
    tests = f"{CORRECTIONS[comparison.correct].summary} {counted(comparison.tests, 'test')}"
    return f"difference to {comparison.baseline} with 95 % interval, * p < 0.05 {tests}"


def grid(comparison: Comparison) -> Grid:
    """Return the comparison as text: the baseline, then three columns for each other model."""
    others = list(comparison.columns)[1:]
    head = ["task", "data set", "score", comparison.baseline]
    if comparison.alone:
        head.append("95 % interval")
    for name in others:
        head += [name, "difference", "adjusted p"]
    rows = []
    for row in comparison.rows:
        cells = [row.task, row.dataset, f"{row.setting} {row.metric}".strip()]
        cells.append(_value_cell(comparison.value(row, comparison.baseline)))
        if comparison.alone:
            cells.append(interval_cell(*comparison.interval(row, comparison.baseline)))
        for name in others:
            cells.append(_value_cell(comparison.value(row, name)))
            cells += _difference_cells(comparison.differences.get((row, name)))
        rows.append(cells)
    return Grid(head, rows, title(comparison), names=3)


def _value_cell(value: Value | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value.mean:.2f} ± {value.std:.2f}" if value.seeds > 1 else f"{value.mean:.2f}"


def _difference_cells(difference: Difference | None) -> list[str]:
    """Return the difference with its interval, starred if significant, and the p-value."""
    if difference is None:
        return [UNKNOWN, UNKNOWN]
    interval = ""
    if difference.low == difference.low:
        interval = f" [{difference.low:+.2f}, {difference.high:+.2f}]"
    star = "*" if difference.significant else ""
    return [f"{difference.points:+.2f}{interval}{star}", _p_cell(difference)]


def _p_cell(difference: Difference) -> str:
    if not difference.test:
        return UNKNOWN
    return "<0.001" if difference.adjusted < 0.001 else f"{difference.adjusted:.3f}"

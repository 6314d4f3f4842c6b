"""A comparison to a person, a paper or a machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dialtools.cli._grid import Grid, write_table
from dialtools.cli._run import Run
from dialtools.eval.options.compare import CompareOptions

if TYPE_CHECKING:
    from dialtools.eval.compare.compare import Comparison

SHOWN = 3
"""Scores that a message names before it counts."""


def report_comparison(found: Comparison, options: CompareOptions, run: Run) -> None:
    """Write the comparison, say what could not be compared, then check the gate."""
    from dialtools.eval.compare.compare import check_gate, records

    write_table(
        grid(found),
        lambda: records(found),
        output=options.output,
        to=options.to,
        overwrite=options.overwrite,
        run=run,
    )
    for line in told(found):
        run.warn(line)
    if options.fail_if_worse is not None:
        check_gate(found, options.fail_if_worse)


def told(found: Comparison) -> Iterable[str]:
    """Yield what could not be compared, and why."""
    from dialtools.eval.compare.columns import say
    from dialtools.eval.compare.compare import ALIKE

    for (name, why), rows in found.untested.items():
        named = list(dict.fromkeys(map(say, rows)))
        more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        yield f"not tested: {', '.join(named[:SHOWN])}{more}: {name}: {why}"
    if not found.differences:
        yield ALIKE
    if found.published:
        yield f"{found.published:,} published numbers left out: nothing is known of their items"


def title(found: Comparison) -> str:
    """Return what the numbers of a table are."""
    corrected = {
        "holm": "after Holm's correction for",
        "bh": "after Benjamini and Hochberg's correction for",
        "none": "uncorrected, in",
    }[found.correct]
    return f"difference to {found.baseline} with 95 % interval, p, * p < 0.05 {corrected} {found.tests} tests"


def grid(found: Comparison) -> Grid:
    """Return the comparison as text."""
    others = list(found.columns)[1:]
    head = [
        "task",
        "data set",
        "score",
        found.baseline,
        *(word for name in others for word in (name, "difference", "p")),
    ]
    rows = []
    for row in found.rows:
        line = [
            row.task,
            row.dataset,
            f"{row.setting} {row.metric}".strip(),
            _value(found.value(row, found.baseline)),
        ]
        for name in others:
            line += [
                _value(found.value(row, name)),
                *_difference(found.differences.get((row, name))),
            ]
        rows.append(line)
    return Grid(head, rows, title(found), names=3)


def _value(found: tuple[float, float, int] | None) -> str:
    if found is None:
        return "–"
    return f"{found[0]:.2f}" + (f" ± {found[1]:.2f}" if found[2] > 1 else "")


def _difference(found: Any) -> list[str]:
    if found is None:
        return ["–", "–"]
    interval = f" [{found.low:+.2f}, {found.high:+.2f}]" if found.low == found.low else ""
    p = "–" if not found.test else "<0.001" if found.adjusted < 0.001 else f"{found.adjusted:.3f}"
    return [f"{found.points:+.2f}{interval}{'*' * found.significant}", p]

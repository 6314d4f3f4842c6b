"""What is told of a comparison: its records, what was not tested, and the gate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.errors import DataError, GateError
from dialtools.eval.compare.columns import in_words
from dialtools.eval.compare.comparison import Comparison, Value
from dialtools.eval.suite import Row
from dialtools.streams.tally import counted

SCHEMA = "dialtools.comparison/1"
CHOSEN = "--metric and --setting choose the scores that count"
ALIKE = (
    "scores are told apart by task, data set, setting and metric; "
    "dial-eval TASK --name gives a data set its name"
)
SHOWN = 3
"""Scores that a message names before it counts."""


def refuse_nothing(comparison: Comparison) -> None:
    """Refuse a comparison of nothing, which no gate may take for good.

    Raises:
        DataError: if no score could be compared.
    """
    if not comparison.differences and not comparison.alone:
        message = "nothing to compare: no score of the baseline is in another column, of its items"
        raise DataError(message, hint=ALIKE)


def check_gate(comparison: Comparison, points: float) -> None:
    """Compare with --fail-if-worse.

    Raises:
        GateError: naming the score that is furthest below the baseline's, if by more than `points`,
            or one of the baseline's that a model has not, or of other items.
    """
    (row, name), worst = max(comparison.differences.items(), key=lambda pair: pair[1].gap)
    if worst.gap > points:
        fails = sum(difference.gap > points for difference in comparison.differences.values())
        more = _and_more(fails)
        raise GateError(
            f"{name}: {in_words(row)} is worse than {comparison.baseline}'s "
            f"by {worst.gap:.2f}, above {points:g}{more}",
            hint=CHOSEN,
        )
    if comparison.missing:
        row, name = comparison.missing[0]
        raise GateError(
            f"{name}: {in_words(row)} is not compared with {comparison.baseline}'s"
            f"{_and_more(len(comparison.missing))}",
            hint=CHOSEN,
        )


def _and_more(count: int) -> str:
    """Return how many there are beside the one that was named."""
    return f", and {count - 1} more" if count > 1 else ""


def untested_notes(comparison: Comparison) -> Iterator[str]:
    """Yield what could not be compared, and why, a line each."""
    for (name, why), rows in comparison.untested.items():
        scores = list(dict.fromkeys(map(in_words, rows)))
        more = f" and {len(scores) - SHOWN} more" if len(scores) > SHOWN else ""
        yield f"not tested: {', '.join(scores[:SHOWN])}{more}: {name}: {why}"
    if comparison.published:
        count = counted(comparison.published, "published number")
        yield f"{count} left out: nothing is known of their items"


def records(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a record for each score of each model but the baseline, of what is known.

    Of a model alone, for each of its scores.
    """
    models = list(comparison.columns)[not comparison.alone :]
    every = []
    for row in comparison.rows:
        for name in models:
            value = comparison.value(row, name)
            if value is not None:
                record = _record(comparison, row, name, value)
                every.append({key: v for key, v in record.items() if v != "" and v == v})
    return every


def _record(comparison: Comparison, row: Row, name: str, value: Value) -> dict[str, Any]:
    """Return the record of one score; NaN and empty texts are what is not known."""
    baseline = {} if comparison.alone else {"baseline": comparison.baseline}
    record: dict[str, Any] = {
        "schema": SCHEMA,
        **row._asdict(),
        "model": name,
        **baseline,
        "value": value.mean,
        "std": value.std,
        "seeds": value.seeds,
    }
    if comparison.alone:
        low, high = comparison.interval(row, name)
        return record | {"low": low, "high": high}
    if base := comparison.value(row, comparison.baseline):
        record |= {
            "baseline_value": base.mean,
            "baseline_std": base.std,
            "baseline_seeds": base.seeds,
        }
    difference = comparison.differences.get((row, name))
    if difference:
        record |= {
            "difference": difference.points,
            "low": difference.low,
            "high": difference.high,
            "p": difference.p,
            "adjusted_p": difference.adjusted,
            "test": difference.test,
        }
    if difference and difference.test:
        record |= {
            "correction": comparison.correct,
            "tests": comparison.tests,
            "significant": difference.significant,
        }
    return record

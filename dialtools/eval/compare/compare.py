"""Score files side by side: which differences would be there again with other test items?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dialtools.errors import ConfigError, DataError, GateError, nearest
from dialtools.eval import each
from dialtools.eval import identity as items
from dialtools.eval.compare.columns import Column, Seed, columns_of, say
from dialtools.eval.options.compare import CompareOptions
from dialtools.eval.suite import AVERAGE, Row
from dialtools.metrics import paired
from dialtools.metrics.resample import grouped

SCHEMA = "dialtools.comparison/1"
LEVEL = 0.05
LOWER_IS_BETTER = ("fpr-at-95-recall", "uniformity", "alignment", "average-cosine", "inter-cosine")
ALIKE = "scores are told apart by task, data set, setting and metric; dial-eval TASK --name gives a data set its name"
TOLERANCE = 0.01
"""Points by which what the items add up to may miss the score that the record tells."""


@dataclass
class Difference:
    """Of a model to the baseline in one score: in points, 95 % interval, p-values before and after correction.

    Attributes:
        test: `permutation`, `bootstrap`, or empty if it cannot be tested.
        gap: how much worse the model is, in points; below zero if it is better.
    """

    points: float
    gap: float
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    adjusted: float = float("nan")
    test: str = ""

    @property
    def significant(self) -> bool:
        return self.adjusted < LEVEL


@dataclass
class Comparison:
    """Columns by name, the baseline first; the rows that any of them has; what differs.

    Attributes:
        differences: {(row, column): difference}, where both have the score and nothing says that
            items differ.
        untested: {(column, why): rows} that could not be paired.
    """

    columns: dict[str, Column]
    rows: list[Row]
    correct: str
    differences: dict[tuple[Row, str], Difference] = field(default_factory=dict)
    untested: dict[tuple[str, str], list[Row]] = field(default_factory=dict)
    published: int = 0

    @property
    def baseline(self) -> str:
        return next(iter(self.columns))

    @property
    def tests(self) -> int:
        return sum(bool(d.test) for d in self.differences.values())

    def value(self, row: Row, name: str) -> tuple[float, float, int] | None:
        """Return mean and standard deviation over seeds, and how many there are; None without the score."""
        values = [seed.record["value"] for seed in self.columns[name].get(row, ())]
        if not values:
            return None
        return (
            float(np.mean(values)),
            float(np.std(values, ddof=1)) if len(values) > 1 else float("nan"),
            len(values),
        )


def evaluate(options: CompareOptions) -> Comparison:
    """Return the comparison of the columns with the first, or with --baseline.

    Raises:
        ConfigError: if there are not two columns, or a name fits none.
        DataError: for a file that holds no scores, or a column with one score twice.
    """
    columns, published = columns_of(options)
    metrics = list(dict.fromkeys(row.metric for column in columns.values() for row in column))
    for name in options.metric:
        if name not in metrics:
            raise ConfigError(
                f"--metric: no score has {name!r}",
                hint=nearest(name, metrics) or f"there are {', '.join(metrics)}",
            )
    rows = list(
        dict.fromkeys(
            row
            for column in columns.values()
            for row in column
            if not options.metric or row.metric in options.metric
        )
    )
    found = Comparison(columns, rows, options.correct, published=published)
    _test(found, _paired(found), options)
    tested = [d for d in found.differences.values() if d.test]
    for difference, adjusted in zip(
        tested, paired.CORRECTIONS[options.correct](np.asarray([d.p for d in tested])), strict=True
    ):
        difference.adjusted = float(adjusted)
    return found


Sample = tuple[int, tuple[int, ...]]
"""How many items there are, and the group of each if they have groups: scores of one sample share their resamples."""


def _paired(found: Comparison) -> dict[Sample, list[tuple[Row, str]]]:
    """Set every difference, say which cannot be tested, and return those that can, by their sample."""
    by_sample: dict[Sample, list[tuple[Row, str]]] = {}
    base = found.columns[found.baseline]
    for row in found.rows:
        for name in list(found.columns)[1:]:
            own, theirs = found.columns[name].get(row), base.get(row)
            if not own or not theirs:
                found.untested.setdefault(
                    (name if theirs else found.baseline, "does not have it"), []
                ).append(row)
                continue
            why, comparable = _pairable([*theirs, *own])
            if comparable:
                points = found.value(row, name)[0] - found.value(row, found.baseline)[0]  # type: ignore[index]
                found.differences[row, name] = Difference(
                    points, points if row.metric in LOWER_IS_BETTER else -points
                )
            if why:
                found.untested.setdefault((name, why), []).append(row)
            else:
                record = own[0].record
                by_sample.setdefault(
                    (each.size(record["each"]), tuple(record.get("groups", ()))), []
                ).append((row, name))
    return by_sample


def _pairable(seeds: Sequence[Seed]) -> tuple[str | None, bool]:
    """Return why measurements cannot be paired, if so, and whether their scores are of the same items as far as is known."""
    first = seeds[0].record
    told = [items.differing(first.get("items", {}), seed.record.get("items", {})) for seed in seeds]
    if other := next(filter(None, told), None):
        return f"other test items ({', '.join(other)} differ{'s' * (len(other) == 1)})", False
    if first["dataset"] == AVERAGE:
        return "an average of data sets", True
    if any(not seed.record.get("each") for seed in seeds):
        return "nothing is known of its items (dial-eval without --no-each keeps that)", True
    if None in told:
        return "nothing tells which its test items are", True
    if len({each.size(seed.record["each"]) for seed in seeds}) > 1:
        return "another number of test items", False
    if any(seed.record.get("groups", []) != first.get("groups", []) for seed in seeds):
        return "its items are grouped otherwise (dial-eval --group)", True
    return None, True


def _test(
    found: Comparison, by_sample: dict[Sample, list[tuple[Row, str]]], options: CompareOptions
) -> None:
    """Fill in interval, p-value and test of what can be paired."""
    for (n, together), pairs in by_sample.items():
        groups = np.asarray(together) if together else None
        keys = list(
            dict.fromkeys((row, name) for row, other in pairs for name in (found.baseline, other))
        )
        own = {key: _statistics(found.columns[key[1]][key[0]]) for key in keys}
        if (len(set(together)) if together else n) < 2:
            for row, name in pairs:
                found.untested.setdefault(
                    (name, "its items are one dialogue, block or item: no spread to judge by"), []
                ).append(row)
            continue
        flat = [statistic for statistics in own.values() for statistic in statistics]
        values = paired.bootstrap(
            flat, n, resamples=options.resamples, seed=options.seed, groups_N=groups
        )
        ends = np.cumsum([len(statistics) for statistics in own.values()])
        resampled = {
            key: 100 * values[end - len(own[key]) : end].mean(0)
            for key, end in zip(own, ends, strict=True)
        }
        means = []
        for row, name in pairs:
            difference = found.differences[row, name]
            again = resampled[row, name] - resampled[row, found.baseline]
            difference.low, difference.high = (
                (float(v) for v in np.nanpercentile(again, [2.5, 97.5]))
                if not np.isnan(again).all()
                else (np.nan, np.nan)
            )
            difference.test, difference.p = "bootstrap", paired.two_sided(again)
            gaps = _gaps(own[row, name], own[row, found.baseline])
            if gaps is not None and options.test == "permutation":
                means.append((difference, gaps))
        if means:
            gaps = np.nan_to_num(np.column_stack([gaps for _, gaps in means]))
            flips = paired.sign_flips(
                gaps if groups is None else grouped(gaps, groups),
                resamples=options.resamples,
                seed=options.seed,
            )
            for (difference, _), p in zip(means, flips, strict=True):
                difference.test, difference.p = "permutation", float(p)


def _statistics(seeds: Sequence[Seed]) -> list[each.Statistic]:
    """Return the statistic of each seed.

    Raises:
        DataError: if `each` is no such thing, or does not make the score.
    """
    found = []
    for where, _row, record in seeds:
        try:
            statistic = each.statistic(record["metric"], record["each"])
            again = 100 * float(statistic(np.ones((1, each.size(record["each"]))))[0])
        except (ValueError, KeyError) as error:
            raise DataError(f"each: {error}", where=where) from None
        if not abs(again - record["value"]) <= TOLERANCE:
            raise DataError(
                f"each: its items make {again:.3f}, the value is {record['value']:.3f}", where=where
            )
        found.append(statistic)
    return found


def _gaps(own: Sequence[each.Statistic], base: Sequence[each.Statistic]) -> np.ndarray | None:
    """Return (N,) by how much the model beats the baseline on each item, seeds averaged, if the score is a mean over items."""
    if any(statistic.values is None for statistic in (*own, *base)):
        return None
    both = [np.mean([statistic.values for statistic in side], axis=0) for side in (own, base)]  # type: ignore[misc]
    return both[0] - both[1]


def check_gate(found: Comparison, points: float) -> None:
    """Compare with --fail-if-worse.

    Raises:
        GateError: naming the score that is furthest below the baseline's, if by more than `points`.
        DataError: if no score could be compared, which no gate may take for good.
    """
    if not found.differences:
        raise DataError(
            "--fail-if-worse has no score to judge: none is in the baseline and in another column",
            hint=ALIKE,
        )
    worst = max(found.differences.items(), key=lambda pair: pair[1].gap, default=None)
    if worst and worst[1].gap > points:
        (row, name), difference = worst
        fails = sum(d.gap > points for d in found.differences.values())
        more = f", and {fails - 1} more" if fails > 1 else ""
        raise GateError(
            f"{name}: {say(row)} is worse than {found.baseline}'s by {difference.gap:.2f}, above {points:g}{more}"
        )


def records(found: Comparison) -> list[dict[str, Any]]:
    """Return a record for each score of each model but the baseline; what is not known is left out."""
    rows = []
    for row in found.rows:
        for name in list(found.columns)[1:]:
            own, base, difference = (
                found.value(row, name),
                found.value(row, found.baseline),
                found.differences.get((row, name)),
            )
            if own is None:
                continue
            facts: dict[str, Any] = {
                "schema": SCHEMA,
                **row._asdict(),
                "model": name,
                "baseline": found.baseline,
                "value": own[0],
                "std": own[1],
                "seeds": own[2],
            }
            facts |= (
                {"baseline_value": base[0], "baseline_std": base[1], "baseline_seeds": base[2]}
                if base
                else {}
            )
            if difference:
                facts |= {
                    "difference": difference.points,
                    "low": difference.low,
                    "high": difference.high,
                    "p": difference.p,
                    "adjusted": difference.adjusted,
                    "test": difference.test,
                }
            if difference and difference.test:
                facts |= {
                    "correction": found.correct,
                    "tests": found.tests,
                    "significant": difference.significant,
                }
            rows.append({k: v for k, v in facts.items() if v != "" and v == v})
    return rows

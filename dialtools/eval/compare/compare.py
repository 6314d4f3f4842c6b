"""Score files side by side: which differences would be there again with other test items?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dialtools.errors import ConfigError, DataError, GateError, nearest
from dialtools.eval import each
from dialtools.eval.compare.columns import Column, Seed, columns_of, in_words
from dialtools.eval.identity import differing
from dialtools.eval.options.compare import CompareOptions
from dialtools.eval.suite import AVERAGE, Row
from dialtools.metrics import CORRECTIONS, paired
from dialtools.metrics.resample import grouped, percentiles

SCHEMA = "dialtools.comparison/1"
LEVEL = 0.05
LOWER_IS_BETTER = ("fpr-at-95-recall", "uniformity", "alignment", "average-cosine", "inter-cosine")
ALIKE = (
    "scores are told apart by task, data set, setting and metric; "
    "dial-eval TASK --name gives a data set its name"
)
SHOWN = 3
"""Scores that a message names before it counts."""

TOLERANCE = 0.01
"""Points by which what the items add up to may miss the score that the record tells."""


@dataclass
class Difference:
    """Of a model to the baseline in one score, in points.

    Attributes:
        low, high: 95 % interval.
        p, adjusted: p-value, before and after the correction for all tests.
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


class Value(NamedTuple):
    """A score of a model: mean and standard deviation over its seeds, and how many there are."""

    mean: float
    std: float
    seeds: int


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

    def value(self, row: Row, name: str) -> Value | None:
        """Return a score of a column, over its seeds; None without the score."""
        values = [seed.record["value"] for seed in self.columns[name].get(row, ())]
        if not values:
            return None
        std = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
        return Value(float(np.mean(values)), std, len(values))

    def set_aside(self, row: Row, name: str, why: str) -> None:
        """Note that a score of a column cannot be paired with the baseline's."""
        self.untested.setdefault((name, why), []).append(row)


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
    every_row = dict.fromkeys(row for column in columns.values() for row in column)
    rows = [row for row in every_row if not options.metric or row.metric in options.metric]
    comparison = Comparison(columns, rows, options.correct, published=published)
    for sample, pairs in _pairs_by_sample(comparison).items():
        _test(comparison, sample, pairs, options)

    tested = [d for d in comparison.differences.values() if d.test]
    correction = CORRECTIONS[options.correct].load()
    corrected = correction(np.asarray([difference.p for difference in tested]))
    for difference, adjusted in zip(tested, corrected, strict=True):
        difference.adjusted = float(adjusted)
    return comparison


Pair = tuple[Row, str]
"""A score, and the column whose score is compared with the baseline's."""


class Sample(NamedTuple):
    """What scores were measured on: those of one sample share their resamples.

    Attributes:
        size: how many items there are.
        groups: the group of each, if they have groups.
    """

    size: int
    groups: tuple[int, ...]

    @property
    def units(self) -> int:
        """How many items, or groups of them, vary by themselves."""
        return len(set(self.groups)) if self.groups else self.size


def _pairs_by_sample(comparison: Comparison) -> dict[Sample, list[Pair]]:
    """Set every difference, say which cannot be tested, and return those that can."""
    by_sample: dict[Sample, list[Pair]] = {}
    for row in comparison.rows:
        for name in list(comparison.columns)[1:]:
            sample = _compared(comparison, row, name)
            if sample is not None:
                by_sample.setdefault(sample, []).append((row, name))
    return by_sample


def _compared(comparison: Comparison, row: Row, name: str) -> Sample | None:
    """Set the difference of a column in one score; return its sample if it can be tested."""
    seeds = comparison.columns[name].get(row, [])
    base_seeds = comparison.columns[comparison.baseline].get(row, [])
    value, base = comparison.value(row, name), comparison.value(row, comparison.baseline)
    if value is None or base is None:
        lacking = comparison.baseline if base is None else name
        comparison.set_aside(row, lacking, "does not have it")
        return None

    why, comparable = _pairable([*base_seeds, *seeds])
    if comparable:
        points = value.mean - base.mean
        gap = points if row.metric in LOWER_IS_BETTER else -points
        comparison.differences[row, name] = Difference(points, gap)
    if why:
        comparison.set_aside(row, name, why)
        return None
    record = seeds[0].record
    return Sample(each.size(record["each"]), tuple(record.get("groups", ())))


def _pairable(seeds: Sequence[Seed]) -> tuple[str | None, bool]:
    """Return why measurements cannot be paired, if so, and whether their scores may be compared.

    They may if they are of the same items as far as is known.
    """
    first = seeds[0].record
    items = first.get("items", {})
    apart = [differing(items, seed.record.get("items", {})) for seed in seeds]
    if other := next(filter(None, apart), None):
        verb = "differs" if len(other) == 1 else "differ"
        return f"other test items ({', '.join(other)} {verb})", False
    if first["dataset"] == AVERAGE:
        return "an average of data sets", True
    if any(not seed.record.get("each") for seed in seeds):
        return "nothing is known of its items (dial-eval without --no-each keeps that)", True
    if None in apart:
        return "nothing tells which its test items are", True
    if len({each.size(seed.record["each"]) for seed in seeds}) > 1:
        return "another number of test items", False
    if any(seed.record.get("groups", []) != first.get("groups", []) for seed in seeds):
        return "its items are grouped otherwise (dial-eval --group)", True
    return None, True


def _test(
    comparison: Comparison, sample: Sample, pairs: Sequence[Pair], options: CompareOptions
) -> None:
    """Fill in interval, p-value and test of the pairs of one sample."""
    cells = dict.fromkeys(
        (row, column) for row, name in pairs for column in (comparison.baseline, name)
    )
    statistics = {
        (row, column): _statistics(comparison.columns[column][row]) for row, column in cells
    }
    if sample.units < 2:
        for row, name in pairs:
            comparison.set_aside(
                row, name, "its items are one dialogue, block or item: no spread to judge by"
            )
        return
    groups_N = np.asarray(sample.groups) if sample.groups else None
    resampled = _resampled(statistics, sample.size, groups_N, options)

    by_swaps: dict[Pair, np.ndarray] = {}
    for row, name in pairs:
        difference = comparison.differences[row, name]
        base = row, comparison.baseline
        again_B = resampled[row, name] - resampled[base]
        difference.low, difference.high = percentiles(again_B)
        difference.test, difference.p = "bootstrap", paired.two_sided(again_B)
        gaps_N = _gaps(statistics[row, name], statistics[base])
        if gaps_N is not None and options.test == "permutation":
            by_swaps[row, name] = gaps_N
    if by_swaps:
        _permute(comparison, by_swaps, groups_N, options)


def _resampled(
    statistics: Mapping[Pair, Sequence[each.Statistic]],
    size: int,
    groups_N: np.ndarray | None,
    options: CompareOptions,
) -> dict[Pair, np.ndarray]:
    """Return the score of each cell in every resample, its seeds averaged, in percent."""
    flat = [statistic for seeds in statistics.values() for statistic in seeds]
    values_SB = paired.bootstrap(
        flat, size, resamples=options.resamples, seed=options.seed, groups_N=groups_N
    )
    resampled, start = {}, 0
    for cell, seeds in statistics.items():
        resampled[cell] = 100 * values_SB[start : start + len(seeds)].mean(0)
        start += len(seeds)
    return resampled


def _permute(
    comparison: Comparison,
    gaps: Mapping[Pair, np.ndarray],
    groups_N: np.ndarray | None,
    options: CompareOptions,
) -> None:
    """Set the p-values of scores that are means over items, from random swaps of the two models."""
    gaps_ND = np.nan_to_num(np.column_stack(list(gaps.values())))
    swaps = paired.sign_flips(
        gaps_ND if groups_N is None else grouped(gaps_ND, groups_N),
        resamples=options.resamples,
        seed=options.seed,
    )
    for pair, p in zip(gaps, swaps, strict=True):
        difference = comparison.differences[pair]
        difference.test, difference.p = "permutation", float(p)


def _statistics(seeds: Sequence[Seed]) -> list[each.Statistic]:
    """Return the statistic of each seed.

    Raises:
        DataError: if `each` is no such thing, or does not make the score.
    """
    statistics = []
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
        statistics.append(statistic)
    return statistics


def _gaps(ours: Sequence[each.Statistic], base: Sequence[each.Statistic]) -> np.ndarray | None:
    """Return (N,) by how much the model beats the baseline on each item, seeds averaged.

    None if the score is no mean over items.
    """
    means = []
    for side in (ours, base):
        values = [statistic.values for statistic in side]
        if any(value is None for value in values):
            return None
        means.append(np.mean([value for value in values if value is not None], axis=0))
    return means[0] - means[1]


def check_gate(comparison: Comparison, points: float) -> None:
    """Compare with --fail-if-worse.

    Raises:
        GateError: naming the score that is furthest below the baseline's, if by more than `points`.
        DataError: if no score could be compared, which no gate may take for good.
    """
    if not comparison.differences:
        raise DataError(
            "--fail-if-worse has no score to judge: none is in the baseline and in another column",
            hint=ALIKE,
        )
    (row, name), worst = max(comparison.differences.items(), key=lambda pair: pair[1].gap)
    if worst.gap > points:
        fails = sum(difference.gap > points for difference in comparison.differences.values())
        more = f", and {fails - 1} more" if fails > 1 else ""
        raise GateError(
            f"{name}: {in_words(row)} is worse than {comparison.baseline}'s "
            f"by {worst.gap:.2f}, above {points:g}{more}"
        )


def untested_notes(comparison: Comparison) -> Iterator[str]:
    """Yield what could not be compared, and why, a line each."""
    for (name, why), rows in comparison.untested.items():
        scores = list(dict.fromkeys(map(in_words, rows)))
        more = f" and {len(scores) - SHOWN} more" if len(scores) > SHOWN else ""
        yield f"not tested: {', '.join(scores[:SHOWN])}{more}: {name}: {why}"
    if not comparison.differences:
        yield ALIKE
    if comparison.published:
        count = f"{comparison.published:,} published numbers"
        yield f"{count} left out: nothing is known of their items"


def records(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a record for each score of each model but the baseline, of what is known."""
    models = list(comparison.columns)[1:]
    every = [
        _record(comparison, row, name, value)
        for row in comparison.rows
        for name in models
        if (value := comparison.value(row, name))
    ]
    return [
        {key: value for key, value in record.items() if value != "" and value == value}
        for record in every
    ]


def _record(comparison: Comparison, row: Row, name: str, value: Value) -> dict[str, Any]:
    """Return the record of one score; NaN and empty texts are what is not known."""
    record: dict[str, Any] = {
        "schema": SCHEMA,
        **row._asdict(),
        "model": name,
        "baseline": comparison.baseline,
        "value": value.mean,
        "std": value.std,
        "seeds": value.seeds,
    }
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
            "adjusted": difference.adjusted,
            "test": difference.test,
        }
    if difference and difference.test:
        record |= {
            "correction": comparison.correct,
            "tests": comparison.tests,
            "significant": difference.significant,
        }
    return record

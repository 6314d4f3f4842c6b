"""What each test item adds to a score, as `each` of its record tells, and the statistic made of it.

    means           [1, 0, 0.9, null, ...]           the item's share; null: it does not count
    four metrics    {"right", "binary", "out"}       of out-of-scope detection (their average)
    areas, FPR      {"out", "rank": [[...]]}         whether the item is to be found, and its place
                                                     among all in every run, 0 first
    grouped items   {"right", "of"}                  right ones of each group, and its size
    MAP             {"own", "candidate"}             of the item as a query, and by how much it
                                                     raises the other queries' as a candidate
    F1 of acts      {"truth": [[0, 2], ...], "guess", "labels"}
                                                     labels by number, and how many there are
    F1 of classes   {"truth": [3, ...], "guess": [[...]]}
                                                     a class of each item; guesses of every run
    correlations    {"x", "y"}                       two numbers of each item

Means over runs are means of each item's share over the runs; thresholds that were found on all test
rows stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dialtools.metrics import counts
from dialtools.metrics.counts import Spearman, Sums
from dialtools.metrics.detection import MEASURES, Detection
from dialtools.metrics.paired import Statistic

MOST_LABELS = 100_000
"""A record may not ask for more: the sums of F1 are dense, resamples x 3 labels."""


def statistic(metric: str, each: Any) -> Statistic:
    """Return the statistic that `each` of a record makes: a share; the score is 100 times that.

    Raises:
        ValueError: if it is not such a payload.
    """
    if not size(each):
        raise ValueError("has no items")
    if metric in MEASURES and (isinstance(each, list) or "rank" not in each):
        raise ValueError("an earlier version kept it in another way; score it again")
    alone = isinstance(each, list)
    names = () if alone else next((names for names in KINDS if set(names) == set(each)), None)
    if names is None:
        raise ValueError(f"unknown parts {', '.join(each)}")
    try:
        if alone:
            return counts.mean(_numbers(each))
        return KINDS[names](metric, *(each[name] for name in names))
    except (TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def size(each: Any) -> int:
    """Return the number of items; 0 of what has none."""
    first = next(iter(each.values()), None) if isinstance(each, Mapping) else each
    return len(first) if isinstance(first, list) else 0


def _grouped(_metric: str, right: Sequence[Any], sizes: Sequence[Any]) -> Sums:
    return counts.ratio(_numbers(right), _numbers(sizes))


def _found(_metric: str, own: Sequence[Any], candidate: Sequence[Any]) -> Sums:
    return counts.mean(_numbers(own) + _numbers(candidate))


def _four(_metric: str, right: Sequence[Any], binary: Sequence[Any], out: Sequence[Any]) -> Sums:
    hit, detected = _numbers(right), _numbers(binary)
    outside = _numbers(out) == 1
    hit_inside = np.where(outside, np.nan, hit)
    hit_outside = np.where(outside, hit, np.nan)
    return counts.mean_of_shares(np.column_stack([hit, hit_inside, detected, hit_outside]))


def _detection(metric: str, out: Sequence[Any], rank: Sequence[Sequence[int]]) -> Detection:
    runs = [np.asarray(run, np.int64) for run in rank]
    if not runs or any(run.shape != (len(out),) for run in runs):
        raise ValueError("rank: expected the rank of each item, in one run at least")
    return Detection(metric, runs, _numbers(out) == 1)


def _classes(metric: str, truth: Sequence[int], guess: Sequence[Sequence[int]]) -> Sums:
    return counts.class_f1(
        np.asarray(truth, np.int64), np.asarray(guess, np.int64), metric.removesuffix("-f1")
    )


def _labels(metric: str, truth: Sequence[Any], guess: Sequence[Any], labels: int) -> Sums:
    if not 0 < labels <= MOST_LABELS:
        raise ValueError(f"labels: expected 1 to {MOST_LABELS}")
    return counts.label_f1(truth, guess, labels, metric.removesuffix("-f1"))


def _correlation(metric: str, x: Sequence[Any], y: Sequence[Any]) -> Statistic:
    return {"spearman": Spearman, "pearson": counts.pearson}[metric](_numbers(x), _numbers(y))


KINDS: dict[tuple[str, ...], Callable[..., Statistic]] = {
    ("right", "of"): _grouped,
    ("own", "candidate"): _found,
    ("right", "binary", "out"): _four,
    ("out", "rank"): _detection,
    ("truth", "guess"): _classes,
    ("truth", "guess", "labels"): _labels,
    ("x", "y"): _correlation,
}


def _numbers(values: Sequence[Any]) -> np.ndarray:
    return np.asarray([np.nan if value is None else value for value in values], np.float64)


OF_RUNS = {("out", "rank"): "rank", ("truth", "guess"): "guess"}
"""The part of a kind that is a list of each run, not of each item."""


def without(metric: str, each: Any, rows_N: np.ndarray) -> float:
    """Return the score in percent of the items that a mask leaves; NaN if it leaves none.

    As if there had been no others: of resamples an F1 is over the labels that are drawn alone.
    """
    kept = np.flatnonzero(~rows_N).tolist()
    if not kept:
        return math.nan

    def left(values: Any) -> Any:  # how many labels there are stays
        return [values[i] for i in kept] if isinstance(values, list) else values

    items = left(each)
    if isinstance(each, dict):
        of_runs = OF_RUNS.get(tuple(each))
        items = {n: [*map(left, v)] if n == of_runs else left(v) for n, v in each.items()}
    return 100 * float(statistic(metric, items)(np.ones((1, len(kept))))[0])

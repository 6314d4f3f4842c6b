"""Intervals and p-values of differences, from resamples of test items and of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dialtools.errors import DataError
from dialtools.eval import each
from dialtools.eval.compare.columns import Seed
from dialtools.eval.compare.comparison import Comparison, Pair
from dialtools.eval.options.compare import CompareOptions
from dialtools.metrics import paired
from dialtools.metrics.resample import other_means, percentiles, widened
from dialtools.ranges import sums_of

TOLERANCE = 0.01
"""Points by which what the items add up to may miss the score that the record tells."""


NUMBERS = 1 << 22
"""Of resamples that are held at once, 32 MB: of many models and scores, one part after another."""


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


def judge_pairs(
    comparison: Comparison, sample: Sample, pairs: Sequence[Pair], options: CompareOptions
) -> None:
    """Fill in interval, p-value and test of the pairs of one sample."""
    groups_N = np.asarray(sample.groups) if sample.groups else None
    by_swaps: dict[Pair, np.ndarray] = {}
    at_once = max(1, NUMBERS // options.resamples)
    for start in range(0, len(pairs), at_once):
        some = pairs[start : start + at_once]
        by_swaps |= _resample(comparison, sample, groups_N, some, options)
    if by_swaps:
        _permute(comparison, by_swaps, groups_N, options)


def _resample(
    comparison: Comparison,
    sample: Sample,
    groups_N: np.ndarray | None,
    pairs: Sequence[Pair],
    options: CompareOptions,
) -> dict[Pair, np.ndarray]:
    """Fill in what the bootstrap tells of pairs; return the gaps of those that swaps test."""
    cells = dict.fromkeys(
        (row, column) for row, name in pairs for column in (comparison.baseline, name)
    )
    statistics = {
        (row, column): _statistics(comparison.columns[column][row]) for row, column in cells
    }
    by_swaps: dict[Pair, np.ndarray] = {}
    if sample.units < 2:
        for row, name in pairs:
            comparison.set_aside(
                row, name, "its items are one dialogue, block or item: no spread to judge by"
            )
        return by_swaps
    resampled = _resampled(statistics, sample.size, groups_N, options)
    for row, name in pairs:
        difference = comparison.differences[row, name]
        base = row, comparison.baseline
        again_B = 100 * resampled[row, name].mean(0) - 100 * resampled[base].mean(0)
        again_B = widened(again_B, difference.points, sample.units)
        sides = [comparison.columns[column][row] for column in (name, comparison.baseline)]
        runs_B = _other_runs([_runs(seeds) for seeds in sides], options)
        again_B = again_B if runs_B is None else again_B + runs_B
        difference.low, difference.high = percentiles(again_B)
        difference.test, difference.p = "bootstrap", paired.two_sided(again_B)
        gaps_N = _gaps(statistics[row, name], statistics[base])
        if gaps_N is not None and runs_B is None and options.test == "permutation":
            by_swaps[row, name] = gaps_N
    return by_swaps


def _resampled(
    statistics: Mapping[Pair, Sequence[each.Statistic]],
    size: int,
    groups_N: np.ndarray | None,
    options: CompareOptions,
) -> dict[Pair, np.ndarray]:
    """Return (S, B) the share of each cell's seeds in every resample."""
    flat = [statistic for seeds in statistics.values() for statistic in seeds]
    values_SB = paired.bootstrap(
        flat, size, resamples=options.resamples, seed=options.seed, groups_N=groups_N
    )
    edges = np.cumsum([len(seeds) for seeds in statistics.values()])[:-1]
    return dict(zip(statistics, np.split(values_SB, edges), strict=True))


def _runs(seeds: Sequence[Seed]) -> np.ndarray | None:
    """Return (R,) the score of each run, seeds averaged; None of one run, or of unlike numbers."""
    values = [seed.record.get("values", []) for seed in seeds]
    if len({*map(len, values)}) > 1 or len(values[0]) < 2:
        return None
    values_R = np.mean(np.array(values, np.float64), 0)
    return None if np.isnan(values_R).any() else values_R


def _other_runs(sides: Sequence[np.ndarray | None], options: CompareOptions) -> np.ndarray | None:
    """Return (B,) what other runs would add to a difference of two models; None of single runs.

    Runs that are equally many are paired: few-shot runs of one seed draw the same examples.
    """
    ours_R, base_R = sides
    if ours_R is not None and base_R is not None and len(ours_R) == len(base_R):
        sides = [ours_R - base_R]
    added = [
        other_means(values_R, resamples=options.resamples, seed=(options.seed, number))
        for number, values_R in enumerate(sides, 1)
        if values_R is not None
    ]
    return np.sum(added, 0) if added else None


def _permute(
    comparison: Comparison,
    gaps: Mapping[Pair, np.ndarray],
    groups_N: np.ndarray | None,
    options: CompareOptions,
) -> None:
    """Set the p-values of scores that are means over items, from random swaps of the two models."""
    gaps_ND = np.nan_to_num(np.column_stack(list(gaps.values())))
    swaps = paired.sign_flips(
        gaps_ND if groups_N is None else sums_of(gaps_ND, groups_N),
        resamples=options.resamples,
        seed=options.seed,
    )
    for pair, p in zip(gaps, swaps.tolist(), strict=True):
        difference = comparison.differences[pair]
        difference.test, difference.p = "permutation", p


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

    None if the score is no mean over the same items: those that a router gave a class (precision)
    are others than another router's, and to swap an item is then to swap two numbers.
    """
    sides = (*ours, *base)
    values = [statistic.values for statistic in sides if statistic.values is not None]
    if len(values) < len(sides):
        return None
    values_SN = np.stack(values)
    unlike_SN = np.isnan(values_SN) != np.isnan(values_SN[0])
    if unlike_SN.any():
        return None
    return values_SN[: len(ours)].mean(0) - values_SN[len(ours) :].mean(0)

"""How sure a number is: intervals over runs and over resamples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dialtools.metrics.counts import Sums
from dialtools.metrics.detection import Detection
from dialtools.metrics.paired import Statistic, bootstrap
from dialtools.ranges import sums_of


def over_runs(
    values: np.ndarray, of_items: tuple[float, float] = (0.0, 0.0)
) -> tuple[float, float, float, float]:
    """Return mean, its 95 % interval, and sample standard deviation.

    One run has no interval (NaN).

    Args:
        of_items: how far the 95 % interval of other items in the same runs reaches below and above
            the mean; 0: the runs alone vary (Student's t). The two add up as independent errors do.
    """
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return mean, math.nan, math.nan, math.nan
    std = float(np.std(values, ddof=1))
    below, above = (math.hypot(_t95(n) * std / math.sqrt(n), reach) for reach in of_items)
    return mean, mean - below, mean + above, std


def _t95(n: int) -> float:
    """Return the two-sided 95 % quantile of Student's t for n observations, to three digits.

    Beyond 30 degrees of freedom it is the normal one, which is within 4 %.
    """
    if n > 31:
        return 1.96
    from scipy.special import stdtrit

    return round(float(stdtrit(n - 1, 0.975)), 3)


def over_items(
    statistic: Statistic,
    n: int,
    *,
    seed: int,
    groups_N: np.ndarray | None = None,
    resamples: int = 1000,
) -> tuple[float, float, float]:
    """Return a statistic of n items and its 95 % interval, of shares or of resamples.

    Args:
        groups_N: which items belong together, 0 to G - 1; they vary as one.
    """
    value = float(statistic(np.ones((1, n)))[0])
    if isinstance(statistic, Sums) and statistic.values is not None:
        units_U2 = statistic.parts if groups_N is None else sums_of(statistic.parts, groups_N)
        return value, *over_shares(*units_U2.T)
    (again_B,) = bootstrap([statistic], n, resamples=resamples, seed=seed, groups_N=groups_N)
    units = n if groups_N is None else len(np.unique(groups_N))
    if isinstance(statistic, Detection):
        units = min(units, statistic.rarer)
    return value, *over_resamples(again_B, value, units, least=statistic.least)


def over_resamples(
    again_B: np.ndarray, value: float, units: int, *, least: float = 0.0
) -> tuple[float, float]:
    """Return the 95 % interval of a number from `least` to 1 that varies as its resamples do.

    Wilson's, too, of where it stands in its range, and of as many items as would make it vary as
    much. Where no resample differs (AUROC or F1 of 1) they are the units. One unit has none (NaN).
    """
    if units < 2 or math.isnan(value):
        return math.nan, math.nan
    span = 1 - least
    share, spread = (value - least) / span, float(np.nanvar(again_B)) / span**2
    variance = share * (1 - share)
    of_one = spread / variance if min(spread, variance) > 1e-12 else 1 / units
    low, high = wilson(share, _t95(units) ** 2 * of_one * units / (units - 1))
    return least + span * float(low), least + span * float(high)


def over_shares(part_U: np.ndarray, whole_U: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of the share that the parts of U units are of their wholes.

    Wilson's (1927), with Student's t and as many independent items as would vary as much as the
    units do (Korn and Graubard 1998). Where all units are alike they tell little of that, so that
    one more, of items that vary by themselves, is counted in. One unit has none (NaN).
    """
    part_U, whole_U = part_U[whole_U > 0], whole_U[whole_U > 0]
    units, items = len(whole_U), whole_U.sum()
    if units < 2:
        return math.nan, math.nan
    share = part_U.sum() / items
    variance, one_more = max(share * (1 - share), 0.0), items / units / 4
    spread = ((part_U - share * whole_U) ** 2).sum()
    likeness = (spread + one_more) / (items * variance + one_more)
    low, high = wilson(share, _t95(units) ** 2 * likeness / items * units / (units - 1))
    return float(low), float(high)


def wilson(share: Any, square: float) -> tuple[Any, Any]:
    """Return Wilson's interval of shares; the squared quantile is divided by the items."""
    middle = (share + square / 2) / (1 + square)
    spread = np.maximum(share * (1 - share), 0)
    reach = np.sqrt(square * (spread + square / 4)) / (1 + square)
    return middle - reach, middle + reach


def of_resampled_tables(
    table: np.ndarray,
    measures: Iterable[Callable[[np.ndarray], float]],
    *,
    seed: int,
    resamples: int = 1000,
) -> np.ndarray:
    """Return (M, B) measures of counts, of resamples of what was counted.

    Tables that are drawn from a table have more structure than it has, so that information in them
    is too high: only how much they vary is of use.
    """
    draw, total = np.random.default_rng(seed), int(table.sum())
    some = np.flatnonzero(table)  # the cells that anything is drawn into
    chances = table.ravel()[some] / total
    # one at a time: of many clusters and labels a thousand tables are gigabytes
    drawn = np.zeros_like(table)
    values: list[list[float]] = []
    for _ in range(resamples):
        drawn.flat[some] = draw.multinomial(total, chances)
        values.append([measure(drawn) for measure in measures])
    return np.array(values).T


def widened(resampled: np.ndarray, value: float, units: int) -> np.ndarray:
    """Return resamples spread about the value as those of few units should be.

    A bootstrap of n units has (n - 1) / n of the variance of their statistic, and the quantiles of
    a normal distribution where Student's t is meant. Of one unit they are what they are.
    """
    if units < 2:
        return resampled
    spread = math.sqrt(units / (units - 1)) * _t95(units) / 1.96
    return value + spread * (resampled - value)


def other_means(values_R: np.ndarray, *, resamples: int, seed: Sequence[int]) -> np.ndarray:
    """Return (B,) how far the means of resampled runs lie from that of the R runs."""
    runs = len(values_R)
    drawn = np.random.default_rng(seed).integers(0, runs, (resamples, runs))
    return widened(values_R[drawn].mean(1) - values_R.mean(), 0.0, runs)


def percentiles(resampled: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of a resampled statistic; where it is undefined it is left out."""
    if np.isnan(resampled).all():
        return math.nan, math.nan
    low, high = np.nanpercentile(resampled, [2.5, 97.5])
    return float(low), float(high)

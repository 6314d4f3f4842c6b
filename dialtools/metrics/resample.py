"""How sure a number is: intervals over runs and over resamples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dialtools.metrics.counts import Sums
from dialtools.metrics.paired import Statistic, bootstrap
from dialtools.metrics.sums import sums_of


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
    """Return a statistic of n items and its 95 % interval: of a share, else of its bootstrap.

    Args:
        groups_N: which items belong together, 0 to G - 1; they vary as one.
    """
    value = float(statistic(np.ones((1, n)))[0])
    if isinstance(statistic, Sums) and statistic.values is not None:
        units_U2 = statistic.parts if groups_N is None else sums_of(statistic.parts, groups_N)
        return value, *over_shares(*units_U2.T)
    (again_B,) = bootstrap([statistic], n, resamples=resamples, seed=seed, groups_N=groups_N)
    units = n if groups_N is None else len(np.unique(groups_N))
    return value, *percentiles(widened(again_B, value, units))


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
    square = _t95(units) ** 2 * likeness / items * units / (units - 1)
    middle = (share + square / 2) / (1 + square)
    reach = math.sqrt(square * (variance + square / 4)) / (1 + square)
    return float(middle - reach), float(middle + reach)


def over_tables(
    table: np.ndarray, measure: Callable[[np.ndarray], float], *, seed: int, resamples: int = 1000
) -> tuple[float, float]:
    """Return the 95 % interval of a measure of counts over resamples of what was counted.

    It holds the middle of the resamples, moved so that their mean is the measure: tables that are
    drawn from a table have more structure than it has, so that information in them is too high.
    """
    draw, total = np.random.default_rng(seed), int(table.sum())
    drawn = draw.multinomial(total, (table / total).ravel(), size=resamples)
    values = np.array([measure(counts.reshape(table.shape)) for counts in drawn])
    low, high = percentiles(values)
    shift = measure(table) - float(np.nanmean(values))
    return low + shift, high + shift


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

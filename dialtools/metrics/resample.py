"""How sure a number is: intervals over runs and over resamples."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dialtools.metrics.paired import Statistic, bootstrap
from dialtools.metrics.sums import sums_of


def over_runs(values: np.ndarray, of_items: float = 0.0) -> tuple[float, float, float, float]:
    """Return mean, its 95 % interval, and sample standard deviation.

    One run has no interval (NaN).

    Args:
        of_items: half of the 95 % interval of other items in the same runs; 0: the runs alone vary
            (Student's t). The two add up as independent errors do.
    """
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return mean, math.nan, math.nan, math.nan
    std = float(np.std(values, ddof=1))
    reach = math.hypot(_t95(n) * std / math.sqrt(n), of_items)
    return mean, mean - reach, mean + reach, std


def over_groups(values_N: np.ndarray, groups_N: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of N values and its 95 % t-interval over whole groups 0 to G - 1.

    One group has none (NaN).

    The mean is a ratio, sums by counts of groups: its variance is that of the groups' sums of
    deviations (of groups of one size, the t-interval of their means).
    """
    mean = float(np.mean(values_N))
    sums_G = sums_of(values_N - mean, groups_N)
    n = len(sums_G)
    if n < 2:
        return mean, math.nan, math.nan
    reach = _t95(n) * float(np.sqrt(n / (n - 1) * (sums_G**2).sum())) / len(values_N)
    return mean, mean - reach, mean + reach


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
    """Return a statistic of n items and its 95 % interval: that of its bootstrap.

    Args:
        groups_N: which items belong together, 0 to G - 1; whole groups are resampled.
    """
    value = float(statistic(np.ones((1, n)))[0])
    (again_B,) = bootstrap([statistic], n, resamples=resamples, seed=seed, groups_N=groups_N)
    units = n if groups_N is None else len(np.unique(groups_N))
    return value, *percentiles(widened(again_B, value, units))


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


def percentiles(resampled: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of a resampled statistic; where it is undefined it is left out."""
    if np.isnan(resampled).all():
        return math.nan, math.nan
    low, high = np.nanpercentile(resampled, [2.5, 97.5])
    return float(low), float(high)

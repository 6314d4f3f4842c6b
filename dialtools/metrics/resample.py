"""How sure a number is: intervals over runs and over resamples."""

from __future__ import annotations

import numpy as np

# two-sided 95 % quantiles of Student's t by degrees of freedom; beyond 30 the normal one is within 4 %
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
        2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip


def over_runs(values: np.ndarray) -> tuple[float, float, float, float]:
    """Return mean, 95 % t-interval of the mean, and sample standard deviation; one run has no interval (NaN)."""
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return mean, float("nan"), float("nan"), float("nan")
    std = float(np.std(values, ddof=1))
    reach = (_T95[n - 2] if n - 2 < len(_T95) else 1.96) * std / float(n) ** 0.5
    return mean, mean - reach, mean + reach, std


def bootstrap(values: np.ndarray, *, seed: int, resamples: int = 1000) -> tuple[float, float, float]:
    """Return mean and 95 % percentile interval over resamples of the values (queries, or blocks of them)."""
    draw = np.random.default_rng(seed)
    means = np.array([values[draw.integers(0, len(values), len(values))].mean() for _ in range(resamples)])
    low, high = np.percentile(means, [2.5, 97.5])
    return float(np.mean(values)), float(low), float(high)

"""How well two series agree. N pairs of numbers."""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false
# (SciPy has no stubs here)

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import rankdata

from dialtools.metrics.resample import percentiles, widened

Correlation = Callable[[np.ndarray, np.ndarray], float]


def pearson(x_N: np.ndarray, y_N: np.ndarray) -> float:
    """Return the linear correlation, NaN if either series is constant."""
    x, y = x_N - x_N.mean(), y_N - y_N.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0 else math.nan


def spearman(x_N: np.ndarray, y_N: np.ndarray) -> float:
    """Return the correlation of the ranks; equal numbers share the mean of the ranks they hold."""
    ranks_x, ranks_y = np.asarray(rankdata(x_N)), np.asarray(rankdata(y_N))
    return pearson(ranks_x, ranks_y)


def with_interval(
    correlation: Correlation, x_N: np.ndarray, y_N: np.ndarray, *, seed: int, resamples: int = 1000
) -> tuple[float, float, float]:
    """Return a correlation of N pairs and its 95 % interval over resamples of the pairs."""
    draw, n = np.random.default_rng(seed), len(x_N)
    again_B = np.empty(resamples)
    for resample in range(resamples):
        rows = draw.integers(0, n, n)
        again_B[resample] = correlation(x_N[rows], y_N[rows])
    value = correlation(x_N, y_N)
    return value, *percentiles(widened(again_B, value, n))

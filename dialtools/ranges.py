"""Rows in ranges, one behind the other, or in groups: where these begin, and their sums."""

from __future__ import annotations

import numpy as np


def starts_of(sizes: np.ndarray) -> np.ndarray:
    """Return (L,) where each list begins, if they stand one behind the other."""
    return np.cumsum(sizes) - sizes


def places_in(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return (sum of sizes,) the places in all ranges, one range behind the other."""
    return np.arange(sizes.sum()) + np.repeat(starts - starts_of(sizes), sizes)


def sums_of(parts_N: np.ndarray, groups_N: np.ndarray, count: int | None = None) -> np.ndarray:
    """Return (G, ...) float64 sums over the rows of each group 0 to G - 1.

    Args:
        count: G; None: one more than the last group that has a row.
    """
    count = int(groups_N.max(initial=-1)) + 1 if count is None else count
    sums = np.zeros((count, *parts_N.shape[1:]))
    order = np.argsort(groups_N, kind="stable")
    there, starts = np.unique(groups_N[order], return_index=True)
    # in a third of the time of np.add.at
    sums[there] = np.add.reduceat(parts_N[order], starts, axis=0, dtype=np.float64)
    return sums

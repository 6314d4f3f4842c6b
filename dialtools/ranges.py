"""Ranges one behind the other: of lists of several sizes in one array, or of some of them."""

from __future__ import annotations

import numpy as np


def starts_of(sizes: np.ndarray) -> np.ndarray:
    """Return (L,) where each list begins, if they stand one behind the other."""
    return np.cumsum(sizes) - sizes


def places_in(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return (sum of sizes,) the places in all ranges, one range behind the other."""
    return np.arange(sizes.sum()) + np.repeat(starts - starts_of(sizes), sizes)

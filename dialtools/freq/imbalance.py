"""How unevenly a corpus repeats itself, from its frequency spectrum alone.

K distinct counts, the largest first; V texts (distinct), N occurrences.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma
from typing import Any

import numpy as np

from dialtools.ranges import starts_of

SCHEMA = "dialtools.imbalance/1"
TOP = 0.01
"""The 1 % of the texts that WMDC's figure 1 tells of."""
RANKS_A_STEP = 1 << 20
"""Of which logarithms are taken at once: there may be more texts than memory has room for."""


@dataclass(frozen=True)
class Spectrum:
    """How many texts have each count: counts (K,) falling, texts (K,)."""

    counts: np.ndarray
    texts: np.ndarray

    @property
    def total(self) -> int:
        """N, the occurrences."""
        return int(self.counts @ self.texts)

    @property
    def distinct(self) -> int:
        """V, the texts."""
        return int(self.texts.sum())

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (K+1,) shares of the texts, and (K+1,) of the occurrences that they hold.

        The most frequent texts come first. Between two points the curve is straight: the texts
        there have one count.
        """
        return _running_shares(self.texts), _running_shares(self.counts * self.texts)


def _running_shares(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(values) / max(1, values.sum())])


def imbalance(spectrum: Spectrum) -> dict[str, Any]:
    """Return the figures of a corpus; None where too few texts leave them undefined."""
    total, distinct = spectrum.total, spectrum.distinct
    return {
        "total": total,
        "distinct": distinct,
        "distinct_share": distinct / total if total else None,
        "top_1_percent_share": top_share(spectrum) if total else None,
        "gini": gini(spectrum) if total else None,
        "entropy_bits": entropy(spectrum) if total else None,
        "zipf_slope": zipf_slope(spectrum),
    }


def top_share(spectrum: Spectrum, top: float = TOP) -> float:
    """Return the share of the occurrences that the most frequent texts hold (WMDC figure 1).

    Args:
        top: which share of the texts; it is one text at least.
    """
    first = max(1, int(spectrum.distinct * top))
    taken = np.clip(first - starts_of(spectrum.texts), 0, spectrum.texts)
    return int(taken @ spectrum.counts) / spectrum.total


def gini(spectrum: Spectrum) -> float:
    """Return the Gini coefficient of the counts.

    It is 0 if all texts are as frequent, and goes towards 1 if one holds all.
    """
    x, y = spectrum.curve()
    twice_the_area = ((x[1:] - x[:-1]) * (y[1:] + y[:-1])).sum()
    return max(0.0, float(twice_the_area - 1))


def entropy(spectrum: Spectrum) -> float:
    """Return the entropy of drawing an occurrence, in bits; log2 V if all texts are as frequent."""
    share = spectrum.counts / spectrum.total
    return max(0.0, float(-(spectrum.texts * share * np.log2(share)).sum()))


def zipf_slope(spectrum: Spectrum) -> float | None:
    """Return the least-squares slope of log count over log rank; None below two texts.

    It is -1 under Zipf's law.
    """
    v = spectrum.distinct
    if v < 2:
        return None
    ends = np.cumsum(spectrum.texts)
    # the sum of log r over r = 1 .. end
    below = np.array([lgamma(end + 1) for end in (0, *ends.tolist())])
    y = np.log(spectrum.counts)
    mean_x, mean_y = below[-1] / v, y @ spectrum.texts / v
    squares = 0.0
    for first in range(1, v + 1, RANKS_A_STEP):
        ranks = np.arange(first, min(first + RANKS_A_STEP, v + 1))
        squares += (np.log(ranks) ** 2).sum()
    covariance = y @ np.diff(below) / v - mean_x * mean_y
    return float(covariance / (squares / v - mean_x**2))

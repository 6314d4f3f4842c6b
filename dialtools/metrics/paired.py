"""Is one model better than another on the same items? Bootstrap, sign flips, corrections.

N items, B resamples, K statistics or comparisons, M tests. Everything is drawn in blocks of
resamples, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dialtools.metrics.counts import Spearman, Sums
from dialtools.metrics.detection import Detection, measured

Statistic = Sums | Spearman | Detection
BLOCK = 500_000
"""Numbers in a block of resamples: 4 MB of float64, so that memory does not grow."""


def draws(n: int, resamples: int, *, seed: int, items: int = 0) -> Iterator[np.ndarray]:
    """Yield blocks (b, N) of how often each of n items is drawn, with replacement.

    Args:
        items: how many items there are, where n is that of their groups.
    """
    # twice a block: sparse sums of ten resamples of many items take half the time of sums of five
    draw, block = np.random.default_rng(seed), max(1, 2 * BLOCK // max(n, items))
    for start in range(0, resamples, block):
        rows = draw.integers(0, n, (min(block, resamples - start), n))
        drawn = np.empty(rows.shape)
        for times_N, items_N in zip(drawn, rows, strict=True):
            times_N[:] = np.bincount(items_N, minlength=n)
        yield drawn


def bootstrap(
    statistics: Sequence[Statistic],
    n: int,
    *,
    resamples: int,
    seed: int,
    groups_N: np.ndarray | None = None,
) -> np.ndarray:
    """Return (K, B) each statistic of the same resamples of n items: their differences are paired.

    Args:
        groups_N: which items belong together, 0 to G - 1; whole groups are drawn.
    """
    values_KB = np.empty((len(statistics), resamples))
    units = n if groups_N is None else int(groups_N.max()) + 1
    together = _Together(statistics, n)
    done = 0
    for drawn in draws(units, resamples, seed=seed, items=n):
        weights_BN = drawn if groups_N is None else drawn[:, groups_N]
        block = slice(done, done + len(weights_BN))
        for row, value_B in together.values(weights_BN):
            values_KB[row, block] = value_B
        done += len(weights_BN)
    return values_KB


class _Together:
    """Statistics of the same n items, which share what they can.

    Parts that are dense lie side by side, so that their sums are one matrix product; measures of
    the same rankings have the same curves.
    """

    def __init__(self, statistics: Sequence[Statistic], n: int) -> None:
        self.dense: dict[int, Sums] = {}
        self.detections: dict[bytes, dict[int, Detection]] = {}
        self.others: dict[int, Statistic] = {}
        for row, statistic in enumerate(statistics):
            if isinstance(statistic, Sums) and isinstance(statistic.parts, np.ndarray):
                self.dense[row] = statistic
            elif isinstance(statistic, Detection):
                self.detections.setdefault(statistic.key, {})[row] = statistic
            else:
                self.others[row] = statistic
        parts = [statistic.parts for statistic in self.dense.values()]
        self.parts_NP = np.hstack(parts) if parts else np.empty((n, 0))

    def values(self, weights_BN: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (B,) each statistic of some resamples, by its row."""
        sums_BP, edge = weights_BN @ self.parts_NP, 0
        for row, statistic in self.dense.items():
            width = statistic.parts.shape[1]
            yield row, statistic.function(sums_BP[:, edge : edge + width])
            edge += width
        for alike in self.detections.values():
            yield from zip(alike, measured(list(alike.values()), weights_BN), strict=True)
        yield from ((row, statistic(weights_BN)) for row, statistic in self.others.items())


def two_sided(differences_B: np.ndarray) -> float:
    """Return the p-value of "no difference": twice the smaller tail, the sample counted in."""
    known = differences_B[~np.isnan(differences_B)]
    tail = min((known <= 0).sum(), (known >= 0).sum())
    return min(1.0, 2 * (1 + float(tail)) / (1 + len(known)))


def sign_flips(differences_NK: np.ndarray, *, resamples: int, seed: int) -> np.ndarray:
    """Return (K,) two-sided p-values of paired differences under random swaps of two models.

    They are swapped item by item, in all 2^N ways if these are no more than the resamples, which
    makes the test exact. An item that does not count (NaN), or on which no two models differ, is no
    item; sums that differ by rounding alone are equal.
    """
    d = np.nan_to_num(differences_NK, nan=0.0)
    d = d[d.any(1)]
    n = len(d)
    bound = np.abs(d.sum(0)) - 1e-10 * np.abs(d).sum(0)
    every = 2**n if n < 60 and 2**n <= resamples else None
    ways = _every_way(n) if every else _drawn_ways(n, resamples, seed=seed)
    hits = np.zeros(d.shape[1], np.int64)
    for swapped_BN in ways:
        hits += (np.abs((swapped_BN * 2.0 - 1) @ d) >= bound).sum(0)
    return hits / every if every else (1 + hits) / (1 + resamples)


def _every_way(n: int) -> Iterator[np.ndarray]:
    """Yield blocks of all (2^N, N) ways to swap some of n items, as zeros and ones."""
    block = max(1, BLOCK // max(n, 1))
    for start in range(0, 1 << n, block):
        yield np.arange(start, min(start + block, 1 << n))[:, None] >> np.arange(n) & 1


def _drawn_ways(n: int, resamples: int, *, seed: int) -> Iterator[np.ndarray]:
    """Yield blocks of drawn ways."""
    draw, block = np.random.default_rng(seed), max(1, BLOCK // n)
    for start in range(0, resamples, block):
        yield draw.integers(0, 2, (min(block, resamples - start), n), dtype=np.int8)


def holm(p_M: np.ndarray) -> np.ndarray:
    """Return p-values adjusted so that no true hypothesis is rejected, but for the chosen chance.

    By Holm (1979): the i-th smallest times the tests that are left, never below the one before.
    """
    order, m = np.argsort(p_M, kind="stable"), len(p_M)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p_M[order] * (m - np.arange(m))))
    return adjusted


def benjamini_hochberg(p_M: np.ndarray) -> np.ndarray:
    """Return p-values adjusted so that in expectation the chosen share of the rejected is wrong.

    By Benjamini and Hochberg (1995): the i-th smallest times M / i, never above the one after.
    """
    order, m = np.argsort(p_M, kind="stable"), len(p_M)
    steps = p_M[order] * m / np.arange(1, m + 1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(1, np.minimum.accumulate(steps[::-1])[::-1])
    return adjusted


def uncorrected(p_M: np.ndarray) -> np.ndarray:
    """Return p-values as they are, each as if it were the only test."""
    return p_M.copy()

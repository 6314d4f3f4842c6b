"""Are two samples of one source? N rows before and M after, G groups of rows, K clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dialtools.metrics.resample import wilson
from dialtools.ranges import starts_of

BLOCK = 250
"""Permutations that are looked at together."""
Z95 = 1.959964
"""Two-sided 95 % quantile of the normal distribution."""


class Energy(NamedTuple):
    """The energy distance of two samples.

    Attributes:
        distance: twice the mean distance across, less those within either; 0 or more.
        chance: its mean over permutations.
        p: share of permutations with as large a distance, this one counted in.
    """

    distance: float
    chance: float
    p: float


def energy_test(
    old_ND: np.ndarray,
    new_MD: np.ndarray,
    *,
    permutations: int,
    seed: int,
    groups: np.ndarray | None = None,
) -> Energy:
    """Return the energy distance of unit rows (Szekely, Rizzo 2013), tested by permutations.

    Args:
        groups: (N + M,) which rows, the old ones first, belong together, 0 to G - 1; each group is
            of one sample, and stays whole where rows change sides.
    """
    rows = np.concatenate([old_ND, new_MD])
    group = np.arange(len(rows)) if groups is None else groups
    sizes_G = np.bincount(group)
    apart = distances(rows[np.argsort(group, kind="stable")])
    if len(sizes_G) < len(rows):
        for axis in (0, 1):
            apart = np.add.reduceat(apart, starts_of(sizes_G), axis=axis)
    old_of_G = np.zeros(len(sizes_G), bool)
    old_of_G[group[: len(old_ND)]] = True
    distance = float(energies(apart, sizes_G, old_of_G[:, None])[0])
    draw, found = np.random.default_rng(seed), np.empty(permutations)
    for start in range(0, permutations, BLOCK):
        size = min(BLOCK, permutations - start)
        sides = np.stack([draw.permutation(old_of_G) for _ in range(size)], axis=1)
        found[start : start + size] = energies(apart, sizes_G, sides)
    # the last bits of sums differ with their order
    as_far = (found >= distance * (1 - 1e-6)).sum()
    return Energy(distance, float(found.mean()), float(1 + as_far) / (1 + permutations))


def distances(rows_ND: np.ndarray) -> np.ndarray:
    """Return (N, N) how far rows are apart; equal ones by 1e-7 at most.

    In float64: float32 has equal rows 3e-4 apart.
    """
    exact_ND = rows_ND.astype(np.float64)
    squares_N = np.einsum("nd,nd->n", exact_ND, exact_ND)
    apart = exact_ND @ exact_ND.T
    apart *= -2
    apart += squares_N
    apart += squares_N[:, None]
    np.sqrt(np.maximum(apart, 0, out=apart), out=apart)
    np.fill_diagonal(apart, 0)
    return apart


def energies(apart_GG: np.ndarray, sizes_G: np.ndarray, old_GB: np.ndarray) -> np.ndarray:
    """Return (B,) the energy distance for each way to part groups of rows into old and new ones.

    Sums are in float64: with those of float32 a way is no longer as far as itself, and of few
    groups many ways are one.

    Args:
        apart_GG: the sums of the distances between the rows of two groups.
        sizes_G: how many rows each has.
    """
    old = old_GB.astype(np.float64)
    n, from_old = sizes_G @ old, apart_GG.sum(0) @ old
    m = sizes_G.sum() - n
    within_old = np.einsum("gb,gb->b", old, apart_GG @ old)
    across = from_old - within_old
    within_new = apart_GG.sum() - from_old - across
    # below 0 by rounding alone
    return np.maximum(2 * across / (n * m) - within_old / n**2 - within_new / m**2, 0)


def exact_p(old_K: np.ndarray, of_old: int, new_K: np.ndarray, of_new: int) -> np.ndarray:
    """Return (K,) two-sided p-values of Fisher's exact test that two shares are one."""
    from scipy.stats import fisher_exact

    tables = ([[a, of_old - a], [b, of_new - b]] for a, b in zip(old_K, new_K, strict=True))
    return np.array([fisher_exact(table).pvalue for table in tables], np.float64)


def difference(
    old_K: np.ndarray, of_old: int, new_K: np.ndarray, of_new: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the 95 % interval of the new share less the old one, (K,) low and high.

    Newcombe's hybrid of Wilson's intervals of the two (1998, method 10).
    """
    p, q = old_K / of_old, new_K / of_new
    (low_p, high_p), (low_q, high_q) = wilson(p, Z95**2 / of_old), wilson(q, Z95**2 / of_new)
    low = q - p - np.sqrt((q - low_q) ** 2 + (high_p - p) ** 2)
    return low, q - p + np.sqrt((high_q - q) ** 2 + (p - low_p) ** 2)

"""Are two samples of one source? N rows before and M after, G groups of rows, K clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
    apart = distances(rows)
    group = np.arange(len(rows)) if groups is None else groups
    old_of_G = np.zeros(int(group.max()) + 1, bool)
    old_of_G[group[: len(old_ND)]] = True
    distance = float(energies(apart, old_of_G[group][:, None])[0])
    draw, found = np.random.default_rng(seed), np.empty(permutations)
    for start in range(0, permutations, BLOCK):
        size = min(BLOCK, permutations - start)
        sides = np.stack([draw.permutation(old_of_G) for _ in range(size)])
        found[start : start + size] = energies(apart, sides[:, group].T)
    # the last bits of sums differ with their order
    as_far = (found >= distance * (1 - 1e-6)).sum()
    return Energy(distance, float(found.mean()), float(1 + as_far) / (1 + permutations))


def distances(rows_ND: np.ndarray) -> np.ndarray:
    """Return (N, N) float32 how far rows are apart; equal ones by 1e-7 at most.

    Products are in float64: float32 has equal rows 3e-4 apart.
    """
    exact_ND = rows_ND.astype(np.float64)
    squares_N = np.einsum("nd,nd->n", exact_ND, exact_ND)
    apart = exact_ND @ exact_ND.T
    apart *= -2
    apart += squares_N
    apart += squares_N[:, None]
    np.sqrt(np.maximum(apart, 0, out=apart), out=apart)
    np.fill_diagonal(apart, 0)
    return apart.astype(np.float32)


def energies(apart_NN: np.ndarray, old_NB: np.ndarray) -> np.ndarray:
    """Return (B,) the energy distance for each way to part rows into old and new ones."""
    old = old_NB.astype(np.float32)
    new = 1 - old
    n, m = old.sum(0, dtype=np.float64), new.sum(0, dtype=np.float64)
    to_old, to_new = apart_NN @ old, apart_NN @ new
    across = np.einsum("nb,nb->b", new, to_old, dtype=np.float64) / (n * m)
    within_old = np.einsum("nb,nb->b", old, to_old, dtype=np.float64) / n**2
    within_new = np.einsum("nb,nb->b", new, to_new, dtype=np.float64) / m**2
    return np.maximum(2 * across - within_old - within_new, 0)  # below 0 by rounding alone


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
    (low_p, high_p), (low_q, high_q) = wilson(p, of_old), wilson(q, of_new)
    low = q - p - np.sqrt((q - low_q) ** 2 + (high_p - p) ** 2)
    return low, q - p + np.sqrt((high_q - q) ** 2 + (p - low_p) ** 2)


def wilson(share: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's 95 % interval of shares of n."""
    middle = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    reach = Z95 / (1 + Z95**2 / n) * np.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
    return middle - reach, middle + reach

"""How sure clusters are: what samples of the rows say of them. N rows, K clusters, R samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dialtools.advance import Advance, silent
from dialtools.cluster.methods import Clusters, find
from dialtools.cluster.options import FindOptions
from dialtools.errors import DataError
from dialtools.metrics.clusterings import adjusted_rand, contingency
from dialtools.metrics.counts import quotient
from dialtools.metrics.resample import over_runs

SHARE = 0.8
"""Of the rows that are in a sample."""


@dataclass
class Stability:
    """How alike clusters of samples are to those of all rows.

    Attributes:
        rand: (R,) adjusted Rand index of each sample, noise being a cluster like the others.
        jaccard: (R, K) shared rows of each cluster and the one most like it, by the rows of either
            (Hennig 2007); NaN where a sample has none of its rows.
    """

    rand: np.ndarray
    jaccard: np.ndarray

    def overall(self) -> tuple[float, float, float]:
        """Return the mean adjusted Rand index, 1 at most, and its 95 % interval over samples."""
        mean, low, high, _ = over_runs(self.rand)
        return mean, low, min(high, 1.0)

    def of_clusters(self) -> np.ndarray:
        """Return (K,) the mean of each cluster; NaN for one that no sample has met."""
        return quotient(np.nansum(self.jaccard, axis=0), (~np.isnan(self.jaccard)).sum(axis=0))


def stability(
    vectors_ND: np.ndarray,
    clusters: Clusters,
    options: FindOptions,
    samples: int,
    *,
    seed: int,
    advance: Advance = silent,
) -> Stability:
    """Find clusters again in samples of the rows, as many where the method is told how many.

    Raises:
        DataError: if a sample has too few rows for them.
    """
    fixed = replace(options, clusters=str(max(len(clusters), 1)))  # without a search
    rand, jaccard = np.zeros(samples), np.zeros((samples, len(clusters)))
    for number in range(samples):
        draw = np.random.default_rng([seed, number])
        size = max(1, round(SHARE * len(vectors_ND)))
        rows = np.sort(draw.choice(len(vectors_ND), size, replace=False))
        try:
            found = find(vectors_ND[rows], fixed, seed=seed + number, advance=advance)
        except DataError as error:
            what = f"--stability clusters four fifths of the rows: {error.message}"
            raise DataError(what, hint=error.hint) from None
        before = clusters.labels[rows]
        rand[number] = adjusted_rand(contingency(before, found.labels))
        jaccard[number] = best_matches(before, found.labels, len(clusters))
    return Stability(rand, jaccard)


def best_matches(before_N: np.ndarray, found_N: np.ndarray, count: int) -> np.ndarray:
    """Return (K,) each cluster's largest Jaccard index with a found one; NaN without a row."""
    others = int(found_N.max(initial=-1)) + 1
    sizes = np.bincount(before_N[before_N >= 0], minlength=count)
    other_sizes = np.bincount(found_N[found_N >= 0], minlength=others)
    both = (before_N >= 0) & (found_N >= 0)
    shared = np.zeros((count, others))
    np.add.at(shared, (before_N[both], found_N[both]), 1)
    either = sizes[:, None] + other_sizes - shared
    best = (shared / np.maximum(either, 1)).max(1, initial=0)
    return np.where(sizes > 0, best, np.nan)

"""Ways to find clusters among unit vectors. N rows, D dimensions, K clusters; noise is -1.

Each method takes rows, options and a seed and returns raw labels; `find` numbers them by size, and
brings in the rows that were not in the sample.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dialtools.advance import Advance, silent
from dialtools.catalog import lookup
from dialtools.chance import sample_of_rows
from dialtools.cluster.options import HDBSCAN, METHODS, WARD, FindOptions
from dialtools.errors import DataError
from dialtools.metrics.clusterings import BLOCK, centroids, silhouette
from dialtools.metrics.space import unit
from dialtools.streams.tally import counted

TRIED_ON = 10_000
"""Rows, at most, on which a number of clusters is tried."""
AT_ONCE = 9
"""Numbers that are tried before one looks closer around the best of them."""
MOST_PAIRED = 10_000
"""Rows of which all pairs are held at once: some 2 GB, and seconds."""


class Labels(NamedTuple):
    """What a method found.

    Attributes:
        labels: (N,) any integers; -1 is noise.
        probability: (N,) how surely a row is in its cluster, where a method tells.
    """

    labels: np.ndarray
    probability: np.ndarray | None = None


@dataclass
class Clusters:
    """Clusters of N rows.

    Attributes:
        labels: (N,) 0 to K - 1, the largest cluster first; -1 is noise.
        centroids: (K, D) the directions of the means, of unit length.
        distance: (N,) cosine distance to the row's centroid, NaN of noise.
        probability: (N,) of hdbscan, NaN of rows that were not in the sample.
    """

    labels: np.ndarray
    centroids: np.ndarray
    distance: np.ndarray
    probability: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.centroids)

    @property
    def sizes(self) -> np.ndarray:
        """(K,) rows of each cluster."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self))

    @property
    def noise(self) -> int:
        """Rows in no cluster."""
        return int((self.labels < 0).sum())


def find(
    vectors_ND: np.ndarray,
    options: FindOptions,
    *,
    seed: int,
    advance: Advance = silent,
    where: str = "",
    among: np.ndarray | None = None,
) -> Clusters:
    """Return the clusters of unit rows.

    Args:
        among: the rows that clusters are found on; default: a sample by --max-rows.
        advance: told of each clustering that was tried.
        where: what the rows are of, for messages.

    Raises:
        DataError: if there are fewer distinct rows than clusters, or more than a method can take.
    """
    count = len(vectors_ND)
    rows = sample_of_rows(count, options.max_rows, seed=seed) if among is None else among
    part_MD = vectors_ND[rows]
    try:
        found = lookup(METHODS, options.method, kind="method")(part_MD, options, seed, advance)
    except DataError as error:
        raise DataError(error.message, where=where, hint=error.hint) from None
    directions_KD, part_labels = _centroids(part_MD, found.labels)
    labels = np.full(count, -1)
    labels[rows] = part_labels
    rest = np.setdiff1d(np.arange(count), rows, assume_unique=True)
    reach_K = np.full(len(directions_KD), np.inf)
    if options.method == HDBSCAN:
        reach_K = _reach(part_MD, part_labels, directions_KD)
    labels[rest] = _joined(vectors_ND, rest, directions_KD, reach_K)
    order = _by_size(labels, len(directions_KD))
    directions_KD = directions_KD[order]
    labels = np.append(np.argsort(order), -1)[labels]
    distance = _distances(vectors_ND, labels, directions_KD)
    return Clusters(labels, directions_KD, distance, _of_sample(found.probability, rows, count))


def _of_sample(values_M: np.ndarray | None, rows: np.ndarray, count: int) -> np.ndarray | None:
    """Return (N,) what is known of some rows, NaN of the others."""
    if values_M is None:
        return None
    values_N = np.full(count, np.nan)
    values_N[rows] = values_M
    return values_N


def kmeans(rows_ND: np.ndarray, options: FindOptions, seed: int, advance: Advance) -> Labels:
    """Return k-means' clusters; of bounds, those of the number with the highest silhouette."""
    low, high = checked_bounds(rows_ND, options)
    if low < high:
        tried_on = rows_ND[sample_of_rows(len(rows_ND), TRIED_ON, seed=seed)]
        low, high = checked_bounds(tried_on, options)

        def score(count: int) -> float:
            advance(1)
            return silhouette(tried_on, _renumbered(_kmeans(tried_on, count, 1, seed)))

        low = best_count(low, high, score)
    advance(1)
    return Labels(_kmeans(rows_ND, low, options.restarts, seed))


def _kmeans(rows_ND: np.ndarray, count: int, restarts: int, seed: int) -> np.ndarray:
    """Return (N,) the labels of scikit-learn's k-means.

    One thread: the sums of several depend on which of them is first, and so would ties.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        settings: dict[str, Any] = {"n_init": restarts, "random_state": seed}
        return KMeans(count, **settings).fit_predict(rows_ND)


def agglomerative(rows_ND: np.ndarray, options: FindOptions, seed: int, advance: Advance) -> Labels:
    """Return clusters that were joined two by two: to as many as asked, or up to a distance.

    Raises:
        DataError: of more rows than whose distances memory should hold.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    del seed  # nothing is drawn
    _refuse_more(rows_ND, options)
    low, high = (1, 1) if options.distance else checked_bounds(rows_ND, options)
    if len(rows_ND) == 1:
        return Labels(np.zeros(1, np.int64))
    apart = _pair_distances(rows_ND)
    if options.chosen_linkage == WARD:
        apart = np.sqrt(2 * apart, out=apart)  # Euclidean, of unit rows
    tree = linkage(apart, options.chosen_linkage)
    advance(1)
    if options.distance is not None:
        return Labels(fcluster(tree, options.distance, "distance"))
    tree[:, 2] = np.arange(len(tree))  # joined one by one, where distances are equal, too

    def score(count: int) -> float:
        return silhouette(rows_ND, _renumbered(fcluster(tree, count, "maxclust")))

    return Labels(fcluster(tree, best_count(low, high, score) if low < high else low, "maxclust"))


def _pair_distances(rows_ND: np.ndarray) -> np.ndarray:
    """Return the cosine distances of all pairs i < j, one row after another, in float64."""
    n = len(rows_ND)
    distances, at = np.empty(n * (n - 1) // 2), 0
    for start in range(0, n, BLOCK // 8):
        block_BN = 1 - rows_ND[start : start + BLOCK // 8] @ rows_ND.T
        for i, row in enumerate(block_BN, start):
            distances[at : at + n - 1 - i] = row[i + 1 :]
            at += n - 1 - i
    return np.maximum(distances, 0)


def hdbscan(rows_ND: np.ndarray, options: FindOptions, seed: int, advance: Advance) -> Labels:
    """Return the clusters of scikit-learn's HDBSCAN, by Euclidean distance of unit rows.

    Raises:
        DataError: of more rows than whose distances memory should hold, or fewer than a cluster's.
    """
    from sklearn.cluster import HDBSCAN as DENSITY

    del seed  # nothing is drawn
    _refuse_more(rows_ND, options)
    wanted = max(options.min_size, options.min_samples or 0)
    if len(rows_ND) < wanted:
        raise DataError(f"{counted(len(rows_ND), 'row')}; a cluster has {wanted} at least")
    settings: dict[str, Any] = {"min_samples": options.min_samples, "copy": True}
    settings["algorithm"] = "brute"  # of so many dimensions trees take thirty times as long
    model = DENSITY(options.min_size, **settings).fit(rows_ND)
    advance(1)
    return Labels(model.labels_, model.probabilities_)


def _refuse_more(rows_ND: np.ndarray, options: FindOptions) -> None:
    if len(rows_ND) > MOST_PAIRED:
        what = f"{len(rows_ND):,} rows: {options.method} holds all pairs, of {MOST_PAIRED:,} rows"
        hint = f"--max-rows {MOST_PAIRED} finds clusters on a sample; the others join the nearest"
        raise DataError(f"{what} at most", hint=hint)


def checked_bounds(rows_ND: np.ndarray, options: FindOptions) -> tuple[int, int]:
    """Return the fewest and most clusters; bounds are lowered to what the rows can be told into.

    Raises:
        DataError: if there are fewer distinct rows than clusters.
    """
    low, high = options.span
    distinct = len({row.tobytes() for row in rows_ND + 0.0})  # -0.0 is 0
    # a silhouette wants a row more than clusters
    if distinct < low + (low < high):
        there = f"{counted(distinct, 'distinct vector')} in {counted(len(rows_ND), 'row')}"
        raise DataError(f"{there}: too few for --clusters {options.clusters}")
    return low, high if low == high else min(high, distinct - 1)


def best_count(low: int, high: int, score: Callable[[int], float]) -> int:
    """Return the number from low to high whose score is best; of equal ones the smaller.

    Some numbers spread over the bounds are tried, then some between the neighbours of the best, and
    so on until no number between them is untried. What has no score (NaN) is no better than any.
    """
    scores: dict[int, float] = {}
    while True:
        tried = np.unique(np.linspace(low, high, AT_ONCE).round().astype(int)).tolist()
        fresh = [count for count in tried if count not in scores]
        if not fresh:
            return max(scores, key=lambda count: (scores[count], -count))
        found = {count: score(count) for count in fresh}
        scores |= {count: value if value == value else -math.inf for count, value in found.items()}
        best = max(tried, key=lambda count: (scores[count], -count))
        place = tried.index(best)
        low, high = tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)]


def _renumbered(labels_N: np.ndarray) -> np.ndarray:
    """Return labels as 0 to K - 1."""
    return np.unique(labels_N, return_inverse=True)[1]


def _centroids(rows_ND: np.ndarray, raw_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (K, D) directions of the means, and the labels as 0 to K - 1, noise as it is."""
    names = np.unique(raw_N[raw_N >= 0])
    labels_N = np.where(raw_N >= 0, np.searchsorted(names, raw_N), -1)
    return unit(centroids(rows_ND, labels_N)).astype(np.float32), labels_N


def _by_size(labels_N: np.ndarray, count: int) -> np.ndarray:
    """Return the clusters from the largest on; of equal ones first that of the first row."""
    clusters, first = np.unique(labels_N, return_index=True)
    at = np.zeros(count, np.int64)
    at[clusters[clusters >= 0]] = first[clusters >= 0]
    return np.lexsort((at, -np.bincount(labels_N[labels_N >= 0], minlength=count)))


def _reach(rows_MD: np.ndarray, labels_M: np.ndarray, centroids_KD: np.ndarray) -> np.ndarray:
    """Return (K,) the distance of each cluster's farthest row from its centroid."""
    reach_K = np.zeros(len(centroids_KD))
    inside = labels_M >= 0
    distance_M = _distances(rows_MD, labels_M, centroids_KD)
    np.maximum.at(reach_K, labels_M[inside], distance_M[inside])
    return reach_K


def _joined(
    vectors_ND: np.ndarray, rows: np.ndarray, centroids_KD: np.ndarray, reach_K: np.ndarray
) -> np.ndarray:
    """Return the nearest centroid of some rows; -1 where it is farther than the cluster reaches."""
    labels = np.full(len(rows), -1)
    if not len(centroids_KD):
        return labels
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        cosine_BK = vectors_ND[rows[block]] @ centroids_KD.T
        nearest = cosine_BK.argmax(1)
        labels[block] = np.where(1 - cosine_BK.max(1) > reach_K[nearest], -1, nearest)
    return labels


def _distances(
    vectors_ND: np.ndarray, labels_N: np.ndarray, centroids_KD: np.ndarray
) -> np.ndarray:
    """Return (N,) the cosine distance of each row to its centroid, NaN of noise."""
    distance_N = np.full(len(labels_N), np.nan)
    for start in range(0, len(labels_N), BLOCK):
        rows = start + np.flatnonzero(labels_N[start : start + BLOCK] >= 0)
        cosine = np.einsum("nd,nd->n", vectors_ND[rows], centroids_KD[labels_N[rows]])
        distance_N[rows] = np.maximum(1 - cosine, 0)
    return distance_N

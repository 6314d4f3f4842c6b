"""Two labellings of N rows compared, by how often C clusters meet K labels; and one by itself.

The table of counts is (C, K). ACC, precision, recall and example coverage are those of DSTC11's
track 2 (Gung et al. 2023), of which precision is also called purity.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dialtools.ranges import sums_of

BLOCK = 4096
"""Rows whose products with all centroids are held at once."""
NEAR = 1e-6
"""A cosine distance below this is none: float32 makes as much of copies of one row."""


def contingency(clusters_N: np.ndarray, labels_N: np.ndarray) -> np.ndarray:
    """Return (C, K) how often each cluster meets each label, both in the order of their values."""
    cluster = np.unique(clusters_N, return_inverse=True)[1]
    label = np.unique(labels_N, return_inverse=True)[1]
    shape = (int(cluster.max(initial=-1)) + 1, int(label.max(initial=-1)) + 1)
    return np.bincount(cluster * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape)


def nmi(table_CK: np.ndarray) -> float:
    """Return mutual information by the mean of the two entropies: V-measure; 1 if both are 0."""
    joint, ofs = table_CK / table_CK.sum(), (table_CK.sum(1), table_CK.sum(0))
    cluster, label = (_entropy(counts / table_CK.sum()) for counts in ofs)
    if cluster + label == 0:
        return 1.0
    return max(0.0, 2 * (cluster + label - _entropy(joint)) / (cluster + label))


def _entropy(shares: np.ndarray) -> float:
    """Return the entropy in nats."""
    some = shares[shares > 0]
    return float(-(some * np.log(some)).sum())


def adjusted_rand(table_CK: np.ndarray) -> float:
    """Return the share of pairs on which both agree, 0 in expectation of chance (Hubert, Arabie).

    1 if one is like the other, also where neither tells any two rows apart.
    """
    together = _pairs(table_CK)
    cluster, label, every = _pairs(table_CK.sum(1)), _pairs(table_CK.sum(0)), _pairs(table_CK.sum())
    expected = cluster * label / every if every else 0.0
    most = (cluster + label) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)


def _pairs(counts: np.ndarray) -> float:
    numbers = np.asarray(counts, np.float64)
    return float((numbers * (numbers - 1) / 2).sum())


def one_to_one(table_CK: np.ndarray) -> np.ndarray:
    """Return (C,) the label that each cluster stands for, no two for one, most rows right; or -1.

    The matching is Kuhn's ("Hungarian").
    """
    from scipy.optimize import linear_sum_assignment

    label_of_C = np.full(len(table_CK), -1)
    rows, columns = linear_sum_assignment(table_CK, maximize=True)
    label_of_C[rows] = columns
    return label_of_C


def accuracy(table_CK: np.ndarray) -> float:
    """Return the share of rows whose cluster stands for their label, one for one (ACC)."""
    label_of_C = one_to_one(table_CK)
    matched = np.flatnonzero(label_of_C >= 0)
    return float(table_CK[matched, label_of_C[matched]].sum() / table_CK.sum())


def precision(table_CK: np.ndarray) -> float:
    """Return the share of rows that have the commonest label of their cluster."""
    return float(table_CK.max(1).sum() / table_CK.sum())


def recall(table_CK: np.ndarray) -> float:
    """Return the share of rows that are in the commonest cluster of their label."""
    return precision(table_CK.T)


def f1(table_CK: np.ndarray) -> float:
    """Return the harmonic mean of precision and recall."""
    first, second = precision(table_CK), recall(table_CK)
    return 2 * first * second / (first + second)


def coverage(table_CK: np.ndarray) -> float:
    """Return the share of rows whose label is the commonest of some cluster.

    Of equally common labels it is the last.
    """
    last = table_CK.shape[1] - 1
    covered = np.unique(last - table_CK[:, ::-1].argmax(1))
    return float(table_CK[:, covered].sum() / table_CK.sum())


MEASURES: dict[str, Callable[[np.ndarray], float]] = {
    "nmi": nmi,
    "ari": adjusted_rand,
    "accuracy": accuracy,
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "coverage": coverage,
}


def centroids(vectors_ND: np.ndarray, clusters_N: np.ndarray) -> np.ndarray:
    """Return (K, D) the sums of the rows of clusters 0 to K - 1, in float64; -1 is in none."""
    inside = clusters_N >= 0
    return sums_of(vectors_ND[inside], clusters_N[inside])


def silhouette(vectors_ND: np.ndarray, clusters_N: np.ndarray) -> float:
    """Return the mean silhouette of unit rows by cosine distance (Rousseeuw 1987), -1 to 1.

    A row's mean distance to a cluster is 1 less its product with the cluster's mean, so that no
    pairs are formed. Rows of no cluster (-1) are left out; rows alone in theirs count 0, and so do
    those whose like are in two clusters; NaN of fewer than two clusters.
    """
    clustered = clusters_N >= 0
    rows_ND, cluster_N = vectors_ND[clustered], clusters_N[clustered]
    sums_KD, sizes_K = centroids(rows_ND, cluster_N), np.bincount(cluster_N)
    if len(sizes_K) < 2:
        return math.nan
    total = 0.0
    for start in range(0, len(rows_ND), BLOCK):
        rows, own = rows_ND[start : start + BLOCK].astype(np.float64), cluster_N[start:][:BLOCK]
        at, others = np.arange(len(rows)), sizes_K[own] - 1
        products_BK = rows @ sums_KD.T
        with_others = products_BK[at, own] - np.einsum("nd,nd->n", rows, rows)
        inside = (1 - with_others / np.maximum(others, 1)).clip(0)
        outside_BK = 1 - products_BK / sizes_K
        outside_BK[at, own] = np.inf
        outside = outside_BK.min(1).clip(0)
        larger = np.maximum(inside, outside)
        told = (others > 0) & (larger > NEAR)
        total += float(((outside - inside)[told] / larger[told]).sum())
    return total / len(rows_ND)

"""Classification from vectors. N texts, C classes, D dimensions; vectors are unit rows."""

from __future__ import annotations

import numpy as np


def prototypes(vectors_ND: np.ndarray, classes_N: np.ndarray, count: int) -> np.ndarray:
    """Return (C, D) class means, not scaled to unit length (DSE's code; METHODS 3.3); a class without rows is zero."""
    sums_CD = np.zeros((count, vectors_ND.shape[1]), np.float64)
    np.add.at(sums_CD, classes_N, vectors_ND)
    sizes_C = np.bincount(classes_N, minlength=count)
    return (sums_CD / np.maximum(sizes_C, 1)[:, None]).astype(np.float32)


def nearest_rows(queries_ND: np.ndarray, known_MD: np.ndarray, k: int, *, block: int = 1024) -> np.ndarray:
    """Return (N, k) rows of the k nearest by dot product, best first; ties to the lower row."""
    found = []
    for start in range(0, len(queries_ND), block):
        scores = queries_ND[start : start + block] @ known_MD.T
        if k == 1:
            found.append(scores.argmax(1)[:, None])
            continue
        part = np.argpartition(-scores, min(k, scores.shape[1] - 1), axis=1)[:, :k]
        part.sort(axis=1)
        order = np.argsort(-np.take_along_axis(scores, part, 1), axis=1, kind="stable")
        found.append(np.take_along_axis(part, order, 1))
    return np.concatenate(found)


def majority(classes_Nk: np.ndarray) -> np.ndarray:
    """Return (N,) the most frequent class of each row; ties to the one that comes first (the nearer)."""
    counts = (classes_Nk[:, :, None] == classes_Nk[:, None, :]).sum(2)
    return classes_Nk[np.arange(len(classes_Nk)), counts.argmax(1)]


def roc_auc(scores_N: np.ndarray, positive_N: np.ndarray) -> float:
    """Return the chance that a positive scores above a negative; ties count half."""
    order = np.argsort(scores_N, kind="stable")
    _, inverse, counts = np.unique(scores_N[order], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    rank = np.empty(len(scores_N))
    rank[order] = (ends - (counts - 1) / 2)[inverse]
    n = int(positive_N.sum())
    m = len(positive_N) - n
    return float((rank[positive_N].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def fpr_at_recall(scores_N: np.ndarray, positive_N: np.ndarray, recall: float = 0.95) -> float:
    """Return the share of negatives at or above the highest threshold that finds `recall` of the positives."""
    positives = np.sort(scores_N[positive_N])[::-1]
    if not len(positives) or positive_N.all():
        return float("nan")
    threshold = positives[int(np.ceil(recall * len(positives))) - 1]
    return float((scores_N[~positive_N] >= threshold).mean())

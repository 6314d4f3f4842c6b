"""Classification from vectors. N texts, C classes, D dimensions; vectors are unit rows."""

from __future__ import annotations

import numpy as np


def prototypes(vectors_ND: np.ndarray, classes_N: np.ndarray, count: int) -> np.ndarray:
    """Return (C, D) class means; a class without rows is zero.

    They are not scaled to unit length, as in DSE's code (METHODS 3.3).
    """
    sums_CD = np.zeros((count, vectors_ND.shape[1]), np.float64)
    np.add.at(sums_CD, classes_N, vectors_ND)
    sizes_C = np.bincount(classes_N, minlength=count)
    return (sums_CD / np.maximum(sizes_C, 1)[:, None]).astype(np.float32)


def majority(classes_Nk: np.ndarray) -> np.ndarray:
    """Return (N,) the most frequent class of each row; of equal ones that which comes first.

    Classes stand in the order of nearness.
    """
    counts = (classes_Nk[:, :, None] == classes_Nk[:, None, :]).sum(2)
    return classes_Nk[np.arange(len(classes_Nk)), counts.argmax(1)]


def placements(scores_N: np.ndarray, positive_N: np.ndarray) -> np.ndarray:
    """Return (N,) the share of the other kind that each row beats; ties count half.

    A positive beats the negatives below it, a negative the positives above it.
    """
    positives, negatives = scores_N[positive_N], scores_N[~positive_N]
    shares_N = np.full(len(scores_N), np.nan)
    shares_N[positive_N] = _share_below(positives, negatives)
    shares_N[~positive_N] = 1 - _share_below(negatives, positives)
    return shares_N


def _share_below(scores_N: np.ndarray, others_M: np.ndarray) -> np.ndarray:
    """Return (N,) the share of the others that is below each score; equal ones count half."""
    ordered = np.sort(others_M)
    below = np.searchsorted(ordered, scores_N, "left")
    not_above = np.searchsorted(ordered, scores_N, "right")
    return (below + not_above) / 2 / max(len(others_M), 1)


def false_alarms_at_recall(
    scores_N: np.ndarray, positive_N: np.ndarray, recall: float = 0.95
) -> np.ndarray:
    """Return (N,) 1 where a row is at or above a threshold, else 0; NaN without a positive.

    The threshold is the highest that finds `recall` of the positives.
    """
    positives = np.sort(scores_N[positive_N])[::-1]
    if not len(positives):
        return np.full(len(scores_N), np.nan)
    return (scores_N >= positives[int(np.ceil(recall * len(positives))) - 1]).astype(float)

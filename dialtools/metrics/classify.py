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


def precisions(scores_N: np.ndarray, positive_N: np.ndarray) -> np.ndarray:
    """Return (N,) the share of positives among the rows that score no lower than a positive.

    NaN for the others. The mean is the average precision, scikit-learn's area under the curve of
    precision over recall.
    """
    shares_N = np.full(len(scores_N), np.nan)
    found = scores_N[positive_N]
    shares_N[positive_N] = _not_below(found, found) / np.maximum(_not_below(found, scores_N), 1)
    return shares_N


def _not_below(scores_N: np.ndarray, others_M: np.ndarray) -> np.ndarray:
    """Return (N,) how many of the others each score finds at its own height or above."""
    return len(others_M) - np.searchsorted(np.sort(others_M), scores_N, "left")


def false_alarms_at_recall(
    scores_N: np.ndarray, positive_N: np.ndarray, recall: float = 0.95
) -> np.ndarray:
    """Return (N,) 1 where a row is at or above a threshold, else 0; NaN without a positive.

    The threshold is the highest that finds `recall` of the positives.
    """
    if not positive_N.any():
        return np.full(len(scores_N), np.nan)
    return (scores_N >= threshold_at_recall(scores_N[positive_N], recall)).astype(float)


def threshold_at_recall(scores_P: np.ndarray, recall: float, *, of: int | None = None) -> float:
    """Return the highest threshold at or above which that share of P positives is.

    Args:
        of: how many positives there are, if some have no score; where too few have one, the
            threshold is the lowest score. Without a score it is infinite.
    """
    if not len(scores_P):
        return float("inf")
    wanted = int(np.ceil(recall * (len(scores_P) if of is None else of) - 1e-9))
    return float(np.sort(scores_P)[::-1][min(max(wanted, 1), len(scores_P)) - 1])


def threshold_at_precision(scores_N: np.ndarray, right_N: np.ndarray, precision: float) -> float:
    """Return the lowest threshold at or above which that share of the rows is right.

    Infinite if no threshold has so large a share.
    """
    order = np.argsort(-scores_N, kind="stable")
    ordered = scores_N[order]
    shares = np.cumsum(right_N[order]) / np.arange(1, len(ordered) + 1)
    last_of_equals = np.append(ordered[1:] < ordered[:-1], True)[: len(ordered)]
    enough = np.flatnonzero(last_of_equals & (shares >= precision - 1e-9))
    return float(ordered[enough[-1]]) if len(enough) else float("inf")

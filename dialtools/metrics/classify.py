"""Classification from vectors. N texts, C classes, D dimensions; vectors are unit rows."""

from __future__ import annotations

import numpy as np

from dialtools.ranges import sums_of


def prototypes(vectors_ND: np.ndarray, classes_N: np.ndarray, count: int) -> np.ndarray:
    """Return (C, D) class means; a class without rows is zero.

    They are not scaled to unit length, as in DSE's code.
    """
    sizes_C = np.bincount(classes_N, minlength=count)
    means_CD = sums_of(vectors_ND, classes_N, count) / np.maximum(sizes_C, 1)[:, None]
    return means_CD.astype(np.float32)


def majority(classes_Nk: np.ndarray) -> np.ndarray:
    """Return (N,) the most frequent class of each row; of equal ones that which comes first.

    Classes, whole numbers from 0 on, stand in the order of nearness.
    """
    rows = np.arange(len(classes_Nk))
    own_N: np.ndarray = rows * (int(classes_Nk.max(initial=0)) + 1)  # no row's class is another's
    _, which, counts = np.unique(
        (own_N[:, None] + classes_Nk).ravel(), return_inverse=True, return_counts=True
    )
    return classes_Nk[rows, counts[which].reshape(classes_Nk.shape).argmax(1)]


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

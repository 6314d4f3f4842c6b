"""Which rows are nearest by dot product, and which are equally near.

Q or N queries, C candidates or M known rows, D dimensions.
"""

from __future__ import annotations

import numpy as np


def exact_scores(queries_QD: np.ndarray, candidates_CD: np.ndarray) -> np.ndarray:
    """Return (Q, C) dot products, bit-equal for bit-equal candidates.

    A matrix product alone does not promise that, and ties are judged by equality.
    """
    return (queries_QD @ candidates_CD.T).take(first_equal(candidates_CD), axis=1)


def first_equal(vectors_CD: np.ndarray) -> np.ndarray:
    """Return (C,) the first row that is bit-equal to each row."""
    first: dict[bytes, int] = {}
    rows = enumerate(np.ascontiguousarray(vectors_CD))
    places = (first.setdefault(row.tobytes(), i) for i, row in rows)
    return np.fromiter(places, np.int64, len(vectors_CD))


def best_rows(scores_C: np.ndarray, count: int) -> np.ndarray:
    """Return the rows of the `count` highest scores, best first; equal ones in their order."""
    kept = min(count, len(scores_C))
    lowest = np.partition(scores_C, len(scores_C) - kept)[len(scores_C) - kept]
    rows = np.flatnonzero(scores_C >= lowest)
    return rows[np.argsort(-scores_C[rows], kind="stable")[:kept]]


def nearest_rows(
    queries_ND: np.ndarray, known_MD: np.ndarray, k: int, *, block: int = 1024
) -> np.ndarray:
    """Return (N, k) rows of the k nearest by dot product, best first; ties to the lower row.

    Equal known rows tie, whatever a matrix product makes of them. All M rows, if they are fewer.
    """
    distinct, place_M = np.unique(first_equal(known_MD), return_inverse=True)
    distinct_CD = known_MD[distinct]
    rows: list[np.ndarray] = []
    for start in range(0, len(queries_ND), block):
        scores = queries_ND[start : start + block] @ distinct_CD.T
        if k == 1:
            rows.append(distinct[scores.argmax(1)][:, None])
        else:
            rows.append(np.stack([best_rows(own_M, k) for own_M in scores.take(place_M, axis=1)]))
    return np.concatenate(rows)

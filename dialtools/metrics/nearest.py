"""Which rows are nearest by dot product, and which are equally near.

Q, N or B (of a block) queries, C candidates or M known rows, D dimensions, K nearest.
"""

from __future__ import annotations

import numpy as np

MANY = 8
"""Times K: where so many of a block come near, the nearest of them are found first."""
SCORES_AT_ONCE = 1 << 24
"""Of a block of queries and all known rows: 64 MiB of float32, and some times that beside them."""


def exact_scores(queries_QD: np.ndarray, candidates_CD: np.ndarray) -> np.ndarray:
    """Return (Q, C) dot products, bit-equal for bit-equal candidates.

    A matrix product alone does not promise that, and ties are judged by equality.
    """
    return (queries_QD @ candidates_CD.T).take(first_equal(candidates_CD), axis=1)


def first_equal(vectors_CD: np.ndarray) -> np.ndarray:
    """Return (C,) the first row that is bit-equal to each row, as 64 bits of it tell.

    The rows themselves would be held a second time.
    """
    first: dict[int, int] = {}
    rows = enumerate(np.ascontiguousarray(vectors_CD))
    places = (first.setdefault(hash(row.tobytes()), i) for i, row in rows)
    return np.fromiter(places, np.int64, len(vectors_CD))


def best_rows(scores_C: np.ndarray, count: int) -> np.ndarray:
    """Return the rows of the `count` highest scores, best first; equal ones in their order."""
    kept = min(count, len(scores_C))
    lowest = np.partition(scores_C, len(scores_C) - kept)[len(scores_C) - kept]
    rows = np.flatnonzero(scores_C >= lowest)
    return rows[np.argsort(-scores_C[rows], kind="stable")[:kept]]


class Nearest:
    """The K nearest of B rows so far: higher scores first, of equal ones the earlier candidate."""

    def __init__(self, rows: int, count: int, floor: float) -> None:
        self.rows, self.count = rows, count
        self.row = np.zeros(0, np.int64)
        self.candidate = np.zeros(0, np.int64)
        self.score = np.zeros(0, np.float32)
        just_below = np.nextafter(np.float32(floor), np.float32(-np.inf))
        self.bar = np.full(rows, just_below, np.float32)

    def offer(
        self, scores_BC: np.ndarray, first: int, allowed_BC: np.ndarray | None = None
    ) -> None:
        """Take those of a block that are nearer than what there is.

        Args:
            first: the number of the first candidate.
            allowed_BC: which of them count; all, without.
        """
        nearer_BC = scores_BC > self.bar[:, None]
        if allowed_BC is not None:
            nearer_BC &= allowed_BC
        crowded = np.count_nonzero(nearer_BC) > MANY * self.count * self.rows
        if crowded and self.count < scores_BC.shape[1]:
            masked = np.where(nearer_BC, -scores_BC, np.inf)
            masked.partition(self.count - 1, axis=1)
            nearer_BC &= -scores_BC <= masked[:, self.count - 1, None]
        place = np.flatnonzero(nearer_BC)  # several times as fast as rows and columns at once
        row, column = np.divmod(place, scores_BC.shape[1])
        score = np.concatenate([self.score, scores_BC.reshape(-1)[place]])
        row = np.concatenate([self.row, row])
        candidate = np.concatenate([self.candidate, column + first])
        order = np.lexsort((candidate, -score, row))
        order = order[rank(row[order]) < self.count]
        self.row, self.candidate, self.score = row[order], candidate[order], score[order]
        last = rank(self.row) == self.count - 1
        self.bar[self.row[last]] = self.score[last]

    def table(self) -> np.ndarray:
        """Return (B, K) candidates, the nearest first, -1 where there are fewer."""
        table_BK = np.full((self.rows, self.count), -1, np.int64)
        table_BK[self.row, rank(self.row)] = self.candidate
        return table_BK

    def scores(self) -> np.ndarray:
        """Return (B, K) their scores, -inf where there are fewer."""
        scores_BK = np.full((self.rows, self.count), -np.inf, np.float32)
        scores_BK[self.row, rank(self.row)] = self.score
        return scores_BK


def rank(sorted_rows: np.ndarray) -> np.ndarray:
    """Return the place of each entry among those of its row."""
    first = np.searchsorted(sorted_rows, sorted_rows, "left")
    return np.arange(len(sorted_rows)) - first


def nearest_rows(
    queries_ND: np.ndarray, known_MD: np.ndarray, k: int, *, block: int = 1024
) -> np.ndarray:
    """Return (N, k) rows of the k nearest by dot product, best first; ties to the lower row.

    Equal known rows tie, whatever a matrix product makes of them. All M rows, if they are fewer.
    """
    distinct, place_M = np.unique(first_equal(known_MD), return_inverse=True)
    distinct_CD = known_MD[distinct] if len(distinct) < len(known_MD) else known_MD
    block = max(1, min(block, SCORES_AT_ONCE // len(known_MD)))
    rows: list[np.ndarray] = []
    for start in range(0, len(queries_ND), block):
        scores = queries_ND[start : start + block] @ distinct_CD.T
        if k == 1:
            rows.append(distinct[scores.argmax(1)][:, None])
        else:
            best = Nearest(len(scores), min(k, len(known_MD)), -np.inf)
            best.offer(scores.take(place_M, axis=1), 0)
            rows.append(best.table())
    return np.concatenate(rows)

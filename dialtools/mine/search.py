"""The nearest candidates that may be negatives: exact, by products of blocks of matrices.

B pairs of a block, C candidates of a block, R in all, D dimensions, K nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

PAIRS_AT_ONCE = 1024
CANDIDATES_AT_ONCE = 8192
"""Scores of 32 MiB."""
MANY = 8
"""Times K: where so many of a block come near, the nearest of them are found first."""


class Nearest:
    """The K nearest of B pairs so far: higher scores first, of equal ones the earlier candidate."""

    def __init__(self, pairs: int, count: int, floor: float) -> None:
        self.pairs, self.count = pairs, count
        self.row = np.zeros(0, np.int64)
        self.candidate = np.zeros(0, np.int64)
        self.score = np.zeros(0, np.float32)
        just_below = np.nextafter(np.float32(floor), np.float32(-np.inf))
        self.bar = np.full(pairs, just_below, np.float32)

    def offer(self, scores_BC: np.ndarray, first: int, allowed_BC: np.ndarray) -> None:
        """Take those of a block that are nearer than what there is.

        Args:
            first: the number of the first candidate.
        """
        allowed_BC &= scores_BC > self.bar[:, None]
        crowded = np.count_nonzero(allowed_BC) > MANY * self.count * self.pairs
        if crowded and self.count < scores_BC.shape[1]:
            masked = np.where(allowed_BC, -scores_BC, np.inf)
            masked.partition(self.count - 1, axis=1)
            allowed_BC &= -scores_BC <= masked[:, self.count - 1, None]
        place = np.flatnonzero(allowed_BC)  # several times as fast as rows and columns at once
        row, column = np.divmod(place, scores_BC.shape[1])
        score = np.concatenate([self.score, scores_BC.reshape(-1)[place]])
        row = np.concatenate([self.row, row])
        candidate = np.concatenate([self.candidate, column + first])
        order = np.lexsort((candidate, -score, row))
        order = order[_rank(row[order]) < self.count]
        self.row, self.candidate, self.score = row[order], candidate[order], score[order]
        last = _rank(self.row) == self.count - 1
        self.bar[self.row[last]] = self.score[last]

    def table(self) -> np.ndarray:
        """Return (B, K) candidates, the nearest first, -1 where there are fewer."""
        table_BK = np.full((self.pairs, self.count), -1, np.int64)
        table_BK[self.row, _rank(self.row)] = self.candidate
        return table_BK


def _rank(sorted_rows: np.ndarray) -> np.ndarray:
    """Return the place of each entry among those of its row."""
    first = np.searchsorted(sorted_rows, sorted_rows, "left")
    return np.arange(len(sorted_rows)) - first


def nearest(
    query_BD: np.ndarray,
    blocks: Iterator[tuple[int, np.ndarray]],
    *,
    count: int,
    ceiling_B: np.ndarray,
    floor: float,
    known: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Return (B, K) the nearest candidates within bounds, -1 where there are fewer.

    Args:
        blocks: the first number and the (C, D) unit vectors of some candidates after others.
        ceiling_B: the highest score of a negative of each pair.
        floor: the lowest.
        known: rows and candidates that are no negatives, by candidate.
    """
    best = Nearest(len(query_BD), count, floor)
    row, candidate = known
    for first, block_CD in blocks:
        scores_BC = query_BD @ block_CD.T
        allowed_BC = scores_BC <= ceiling_B[:, None]
        inside = slice(*np.searchsorted(candidate, [first, first + len(block_CD)]))
        allowed_BC[row[inside], candidate[inside] - first] = False
        best.offer(scores_BC, first, allowed_BC)
    return best.table()


def take_top(table_BK: np.ndarray, count: int) -> np.ndarray:
    """Return (B, N) the nearest."""
    return table_BK[:, :count]


def take_random(draw: np.random.Generator) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return what draws N of each row's candidates without order of rank, nearest first."""

    def take(table_BK: np.ndarray, count: int) -> np.ndarray:
        keys = draw.random(table_BK.shape)
        keys[table_BK < 0] = np.inf  # those that are not there come last
        chosen = np.sort(np.argsort(keys, axis=1)[:, :count], axis=1)
        return np.take_along_axis(table_BK, chosen, axis=1)

    return take

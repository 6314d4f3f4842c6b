"""The nearest candidates that may be negatives: exact, by products of blocks of matrices.

B pairs of a block, C candidates of a block, R in all, D dimensions, K nearest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dialtools.metrics.nearest import Nearest

PAIRS_AT_ONCE = 1024
CANDIDATES_AT_ONCE = 8192
"""Scores of 32 MiB."""


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


def drawn(table_BK: np.ndarray, count: int, draw: np.random.Generator) -> np.ndarray:
    """Return (B, N) of each row's candidates, drawn without order of rank, nearest first."""
    keys = draw.random(table_BK.shape)
    keys[table_BK < 0] = np.inf  # those that are not there come last
    chosen = np.sort(np.argsort(keys, axis=1)[:, :count], axis=1)
    return np.take_along_axis(table_BK, chosen, axis=1)

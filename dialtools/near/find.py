"""The nearest rows of rows, from the nearest vectors of their vectors.

U vectors that are searched with, of Q rows; V distinct ones that are searched among, of N rows;
K nearest. Only distinct vectors are compared: equal ones are equally near, whatever a product of
matrices makes of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dialtools.advance import Advance, scaled
from dialtools.metrics.nearest import Nearest, rank
from dialtools.metrics.unit_vectors import AT_ONCE, UnitVectors
from dialtools.near.rows import Rows
from dialtools.ranges import places_in, starts_of

QUERIES_AT_ONCE = 1024
"""With a block of vectors, scores of 32 MiB."""
DIGITS = 6
"""Of a cosine: float32 has no more."""
HALF_DIGIT = 0.5 * 10**-DIGITS

Table = tuple[np.ndarray, np.ndarray]
"""(U, K) numbers of vectors, the nearest first, -1 where there are fewer; and their cosines."""


def nearest_vectors(
    query_UD: np.ndarray, among: UnitVectors, *, count: int, floor: float, advance: Advance
) -> Table:
    """Return the K nearest vectors of each of U; all are compared, block by block.

    Args:
        floor: the lowest cosine that counts.
        advance: is told how many of the U are done, as far as parts of all can be told so.
    """
    count = min(count, len(among))
    parts = [query_UD[i : i + QUERIES_AT_ONCE] for i in range(0, len(query_UD), QUERIES_AT_ONCE)]
    best = [Nearest(len(part_BD), count, floor - HALF_DIGIT) for part_BD in parts]
    tell = scaled(advance, len(query_UD), len(among))
    for first, block_CD in among.blocks(at_once=AT_ONCE):
        for part_BD, own in zip(parts, best, strict=True):
            own.offer(part_BD @ block_CD.T, first)
        tell(len(block_CD))
    return np.concatenate([b.table() for b in best]), np.concatenate([b.scores() for b in best])


class Neighbours(NamedTuple):
    """P pairs of a row that was searched with and a row near it.

    Attributes:
        query, row: (P,) places of the two among their rows.
        rank: (P,) from 1, the nearest.
        cosine: (P,) rounded.
    """

    query: np.ndarray
    row: np.ndarray
    rank: np.ndarray
    cosine: np.ndarray


def nearest_rows_of(
    table: Table, which_Q: np.ndarray, among: Rows, *, count: int, own_Q: np.ndarray | None = None
) -> Neighbours:
    """Return the K nearest rows of Q rows; of equal cosines the lower row is nearer.

    Args:
        which_Q: which of the U vectors each row has, from 0.
        own_Q: the row of `among` that each is itself, and is not near to.
    """
    one_more = count + (own_Q is not None)
    used, which_Q = np.unique(which_Q, return_inverse=True)
    vector, row, cosine = _rows_of_vectors(table[0][used], table[1][used], among, one_more)
    starts, ends = (np.searchsorted(vector, which_Q, side) for side in ("left", "right"))
    sizes = ends - starts
    query, place = np.repeat(np.arange(len(sizes)), sizes), places_in(starts, sizes)
    if own_Q is not None:
        others = row[place] != own_Q[query]
        query, place = query[others], place[others]
    ranks = rank(query)
    kept = ranks < count
    place = place[kept]
    return Neighbours(query[kept], row[place], ranks[kept] + 1, cosine[place])


def _rows_of_vectors(
    number_UK: np.ndarray, cosine_UK: np.ndarray, among: Rows, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nearest rows of each vector: vectors in order, rows, cosines."""
    vector, column = np.nonzero(number_UK >= 0)
    number = number_UK[vector, column]
    cosine = np.round(cosine_UK[vector, column].astype(np.float64), DIGITS).clip(-1, 1)
    sizes = np.minimum(among.starts[number + 1] - among.starts[number], count)
    # before there are as many: of many copies of many vectors all would be gigabytes
    near = np.flatnonzero(_nearer(vector, cosine, sizes) < count)
    sizes, entry = sizes[near], np.repeat(near, sizes[near])
    row = among.order[places_in(among.starts[number[near]], sizes)]
    order = np.lexsort((row, -cosine[entry], vector[entry]))
    order = order[rank(vector[entry][order]) < count]
    return vector[entry][order], row[order], cosine[entry][order]


def _nearer(vector: np.ndarray, cosine: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return how many rows are nearer to a vector than those of each of its entries, in order."""
    begins = np.ones(len(vector), bool)
    begins[1:] = (vector[1:] != vector[:-1]) | (cosine[1:] != cosine[:-1])
    first_equal = np.flatnonzero(begins)[np.cumsum(begins) - 1]
    before = starts_of(sizes)
    return before[first_equal] - before[np.searchsorted(vector, vector, "left")]

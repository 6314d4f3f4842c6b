"""Groups of rows that are linked by near ones: connected components. V distinct vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from dialtools.advance import Advance
from dialtools.metrics.unit_vectors import AT_ONCE
from dialtools.near.find import HALF_DIGIT, QUERIES_AT_ONCE
from dialtools.near.rows import ROW, Rows, columns_of, without
from dialtools.streams.tally import anew, counted

OWN = (ROW, "group", "size")
LINKS_AT_ONCE = 4_000_000
"""Held before they are folded into the groups so far."""
ROWS_OF_BATCH = 65_536


class Groups:
    """The groups of the rows of one file, of which the links are cosines of `least` at least."""

    def __init__(self, rows: Rows, *, least: float) -> None:
        self.rows, self.least = rows, least
        self.groups = self.together = 0

    def batches(self, advance: Advance) -> Iterator[pa.RecordBatch]:
        """Yield the rows that are not alone, in their order."""
        group_N = linked(self.rows, least=self.least, advance=advance)[self.rows.vector]
        if self.least > HALF_DIGIT:  # rows without a vector are not near, even to each other
            blocks = self.rows.vectors.blocks(at_once=AT_ONCE)
            is_zero_V = np.concatenate([~block_BD.any(1) for _, block_BD in blocks])
            alone = np.flatnonzero(is_zero_V[self.rows.vector])
            group_N[alone] = len(self.rows.vectors) + alone
        _, first, which, sizes = np.unique(
            group_N, return_index=True, return_inverse=True, return_counts=True
        )
        together = np.flatnonzero(sizes[which] > 1)
        self.groups, self.together = int((sizes > 1).sum()), len(together)
        for at in range(0, max(1, len(together)), ROWS_OF_BATCH):
            places = together[at : at + ROWS_OF_BATCH]
            fields = columns_of(self.rows.fields, places)
            columns = {
                ROW: fields[ROW],
                "group": pa.array(self.rows.number[first[which[places]]]),
                "size": pa.array(sizes[which[places]]),
                **without(fields, *OWN),
            }
            yield pa.RecordBatch.from_pydict(columns)

    def closing_line(self) -> str:
        """Return how many there are."""
        rows = counted(self.together, "row")
        told = f"{counted(self.groups, 'group')} of {rows}; {counted(len(self.rows), 'row')} in all"
        return told + anew(self.rows.kept, OWN)


def linked(rows: Rows, *, least: float, advance: Advance) -> np.ndarray:
    """Return (V,) which group each vector is of."""
    vectors = rows.vectors
    group_V = np.arange(len(vectors))
    links: list[np.ndarray] = []
    held = 0
    rows_in_block = np.bincount(rows.vector // QUERIES_AT_ONCE, minlength=1)
    for first, block_BD in vectors.blocks(at_once=QUERIES_AT_ONCE):
        for other, block_CD in vectors.blocks(at_once=AT_ONCE):
            if other + len(block_CD) > first:
                near = np.flatnonzero(block_BD @ block_CD.T >= least - HALF_DIGIT)
                row, column = np.divmod(near, len(block_CD))
                link = np.stack([group_V[row + first], group_V[column + other]])
                link = link[:, link[0] != link[1]]
                held += link.shape[1]
                links += [link] if link.shape[1] else []
                if held > LINKS_AT_ONCE:
                    group_V, links, held = _folded(group_V, links), [], 0
        advance(int(rows_in_block[first // QUERIES_AT_ONCE]))
    return _folded(group_V, links)


def _folded(group_V: np.ndarray, links: list[np.ndarray]) -> np.ndarray:
    """Return the groups with some links between them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.concatenate([np.zeros((2, 0), np.int64), *links], axis=1)
    size = len(group_V)
    graph = coo_array((np.ones(ends.shape[1], bool), (ends[0], ends[1])), shape=(size, size))
    return connected_components(graph, directed=False)[1].astype(np.int64)[group_V]

"""What `dialtools neighbors` does: read the rows, search, tell pairs of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf

import numpy as np
import pyarrow as pa

from dialtools.advance import Advance, scaled
from dialtools.near.approximate import Graph
from dialtools.near.find import Table, nearest_rows_of, nearest_vectors
from dialtools.near.options import NeighborOptions
from dialtools.near.rows import ROW, Rows, columns_of, without
from dialtools.streams.tally import anew, counted

OWN = (ROW, "near", "rank", "cosine")
"""What the pairs tell beside the fields of their rows."""
ROWS_OF_BATCH = 1024
"""Whose pairs are told at once."""
AT_WORK = 448 << 20
"""Bytes that a search takes whatever its size: libraries, blocks and their scores."""
BYTES_OF_RANK = 64
"""Of one of the K nearest of a row."""


class Join:
    """One search of rows among rows: of two files, or of one among its own others.

    Attributes:
        pairs, alone: what was told so far: pairs, and rows without any.
    """

    def __init__(self, options: NeighborOptions) -> None:
        self.options = options
        self.pairs = self.alone = 0
        self.graph: Graph | None = None

    def read(self) -> None:
        """Read the files: QUERIES, then INDEX.

        Raises:
            DataError: as `Rows.read` does, or if the two are of different models or lengths.
        """
        options = self.options
        names = options.vectors or (None,)
        self.queries = Rows(vectors=names[0], keep=options.keep, distinct=options.distinct)
        self.among = self.queries.read(options.files[0])
        if options.joins or options.crosses:
            among = Rows(vectors=names[-1], keep=options.keep, distinct=options.distinct)
            among.expect_like(self.queries)
            self.among = among.read(options.files[-1])

    @property
    def searched(self) -> int:
        """How many rows others are looked for of."""
        rows, limit = len(self.queries), self.options.limit
        return rows if limit is None else min(rows, limit)

    @property
    def count(self) -> int:
        """How many vectors are looked for: of one file a row's own is none of its neighbours."""
        return self.options.k + (not self.options.joins)

    def batches(self, advance: Advance) -> Iterator[pa.RecordBatch]:
        """Yield the pairs, by rows of QUERIES, the nearest first."""
        among, how = self.among.vectors, {"count": self.count, "floor": self.floor}
        find = partial(nearest_vectors, among=among, **how)
        if self.options.approximate:
            find = self.graph = Graph(among, **how, seed=self.options.seed)
        size = rows_at_once(self.options.memory, self.queries.vectors.dimension, self.count)
        for first in range(0, self.searched, size):
            which = self.queries.vector[first : min(first + size, self.searched)]
            used, which = np.unique(which, return_inverse=True)
            told = scaled(advance, len(which), len(used))
            table = find(self.queries.vectors.take(used), advance=told)
            for at in range(0, len(which), ROWS_OF_BATCH):
                part = slice(at, at + ROWS_OF_BATCH)
                yield self._batch(table, which[part], first + at)
        if not self.searched:  # the columns are told all the same
            yield self._batch((np.zeros((0, 1), int), np.zeros((0, 1))), np.zeros(0, int), 0)

    @property
    def floor(self) -> float:
        """The lowest cosine of a row that is near."""
        least = self.options.min_cosine
        return -inf if least is None else least

    def _batch(self, table: Table, which_Q: np.ndarray, first: int) -> pa.RecordBatch:
        """Return the pairs of some rows, the first of which has a place."""
        own_Q = None
        if not self.options.joins:
            own_Q = self.among.place_of(self.queries.number[first : first + len(which_Q)])
        found = nearest_rows_of(table, which_Q, self.among, count=self.options.k, own_Q=own_Q)
        self.pairs += len(found.row)
        self.alone += len(which_Q) - len(np.unique(found.query))
        asked = columns_of(self.queries.fields, found.query + first)
        near = columns_of(self.among.fields, found.row)
        columns = {
            ROW: asked[ROW],
            "near": near[ROW],
            "rank": pa.array(found.rank),
            "cosine": pa.array(found.cosine),
            **without(asked, *OWN),
            **{f"near_{name}": values for name, values in without(near, *OWN).items()},
        }
        return pa.RecordBatch.from_pydict(columns)

    def closing_line(self) -> str:
        """Return what was found."""
        among = f" among {len(self.among):,}" if self.options.joins else ""
        alone = f"; {counted(self.alone, 'row')} without" if self.alone else ""
        rows = counted(self.searched, "row")
        graph = f"; {self.graph.closing_note()}" if self.graph else ""
        return f"{counted(self.pairs, 'pair')} of {rows}{among}{alone}{graph}{self._anew()}"

    def _anew(self) -> str:
        """Say which fields of either file have the name of a new one."""
        near = [f"near_{name}" for name in self.among.kept if name not in OWN]
        lost = [name for name in self.among.kept if name in OWN]
        return anew([*self.queries.kept, *lost], [*OWN, *near])


def rows_at_once(memory: int, dimension: int, count: int) -> int:
    """Return how many rows may be searched with in one pass."""
    return max(ROWS_OF_BATCH, (memory - AT_WORK) // (8 * dimension + BYTES_OF_RANK * count))

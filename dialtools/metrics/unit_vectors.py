"""Distinct unit vectors on disk: written as they come, read by blocks. V of them, D dimensions."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from dialtools.metrics.space import unit
from dialtools.streams.full import scratch_file
from dialtools.streams.hash_index import HashIndex
from dialtools.streams.vectors import check_dimensions

AT_ONCE = 8192
"""Vectors of a block."""
FLOAT_BYTES = 4


class UnitVectors:
    """V vectors of D dimensions, numbered as they came; the first that a key is given stays."""

    def __init__(self) -> None:
        self.file = scratch_file()
        self.index = HashIndex()
        self.dimension = 0
        self._rows: np.ndarray | None = None

    def __len__(self) -> int:
        return self.index.size

    def add(self, keys_N: np.ndarray, matrix_ND: np.ndarray, *, where: str = "") -> np.ndarray:
        """Add the vectors of keys, scaled to length 1; return (N,) the number of each key's.

        Raises:
            DataError: if they differ from those before in their length.
        """
        self.dimension = self.dimension or matrix_ND.shape[1]
        check_dimensions(matrix_ND, self.dimension, where=where)
        numbers, new = self.index.add(keys_N)
        self.file.seek(0, os.SEEK_END)  # blocks may have been read since
        self.file.write(unit(matrix_ND[new]).astype(np.float32).tobytes())
        return numbers

    def add_distinct(self, matrix_ND: np.ndarray, *, where: str = "") -> np.ndarray:
        """Add vectors of which equal ones are one; return (N,) the number of each."""
        unit_ND = unit(matrix_ND).astype(np.float32)
        keys = (hash(row.tobytes()) for row in unit_ND)
        return self.add(np.fromiter(keys, np.int64, len(unit_ND)), matrix_ND, where=where)

    @property
    def rows(self) -> np.ndarray:
        """(V, D) float32, mapped into memory; none are added after this was asked for."""
        if self._rows is None:
            self.file.flush()
            shape = (len(self), self.dimension)
            self._rows = np.asarray(np.memmap(self.file, np.float32, "r", shape=shape))
        return self._rows

    def blocks(self, *, at_once: int = AT_ONCE) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first number and the (C, D) vectors of some after others, read, not mapped."""
        size = self.dimension * FLOAT_BYTES
        for first in range(0, len(self), at_once):
            count = min(at_once, len(self) - first)
            self.file.seek(first * size)
            content = self.file.read(count * size)
            yield first, np.frombuffer(content, np.float32).reshape(count, self.dimension)

    def take(self, numbers_U: np.ndarray) -> np.ndarray:
        """Return (U, D) some of them, by their numbers in ascending order."""
        taken_UD = np.empty((len(numbers_U), self.dimension), np.float32)
        for first, block_CD in self.blocks():
            part = slice(*np.searchsorted(numbers_U, [first, first + len(block_CD)]))
            taken_UD[part] = block_CD[numbers_U[part] - first]
        return taken_UD

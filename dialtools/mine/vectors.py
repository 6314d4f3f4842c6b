"""Unit vectors of distinct texts on disk, found by their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dialtools.corpora.fields import text_of_turn
from dialtools.errors import DataError
from dialtools.metrics.space import unit
from dialtools.streams.full import scratch_file
from dialtools.streams.hash_index import HashIndex
from dialtools.streams.vectors import SUFFIX, Embeddings, embedding_parts

TEXT = "text"


class Vectors:
    """V vectors of D dimensions; the first that a text is given stays."""

    def __init__(self) -> None:
        self.file = scratch_file()
        self.index = HashIndex()
        self.dimension = 0
        self._rows: np.ndarray | None = None

    def read(self, paths: Sequence[str]) -> None:
        """Add what embedding files hold: of `X_embedding` the text is in column X.

        Raises:
            DataError: if a file has no such column, or vectors differ in their length.
        """
        for part in embedding_parts(paths):
            for name, matrix_ND in part.vectors.items():
                self.add(_texts(part, name), matrix_ND, where=part.name)

    def add(self, texts: Sequence[Any], matrix_ND: np.ndarray, *, where: str = "") -> None:
        """Add the vectors of texts, or of lists of turns."""
        dimension = matrix_ND.shape[1]
        self.dimension = self.dimension or dimension
        if dimension != self.dimension:
            message = f"vectors of {dimension} dimensions beside vectors of {self.dimension}"
            raise DataError(message, where=where)
        _, new = self.index.add(hashes(turns_of(text) for text in texts))
        self.file.write(unit(matrix_ND[new]).astype(np.float32).tobytes())

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the row of each text, by its hash; -1 for one without a vector."""
        return self.index.find(keys)

    @property
    def rows(self) -> np.ndarray:
        """(V, D) float32, mapped into memory; none are added after this was asked for."""
        if self._rows is None:
            self.file.flush()
            shape = (self.index.size, self.dimension)
            self._rows = np.asarray(np.memmap(self.file, np.float32, "r", shape=shape))
        return self._rows


def turns_of(value: Any) -> tuple[str, ...]:
    """Return a text, or a list of turns, as turns."""
    if isinstance(value, str):
        return (value,)
    return tuple(map(text_of_turn, value)) if isinstance(value, list) else ()


def hashes(turns: Any) -> np.ndarray:
    """Return a 64-bit integer for each tuple of texts: Python's own, as none outlives the run."""
    return np.fromiter(map(hash, turns), np.int64)


def _texts(part: Embeddings, name: str) -> list[Any]:
    """Return what the vectors of a name are of: the one field that the file tells, or `text`."""
    column = name.removesuffix(f"_{SUFFIX}")
    if name == SUFFIX:
        column = part.fields[0] if len(part.fields) == 1 else TEXT
    if column not in part.columns:
        raise DataError(
            f"no column {column} beside {name}",
            where=part.name,
            hint=f"dial-embed --keep {column} carries it along",
        )
    return part.columns[column]

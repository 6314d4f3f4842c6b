"""The rows of embedding files: their vectors on disk, the fields that are told of them in memory.

N rows, V distinct vectors of D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dialtools.errors import DataError
from dialtools.metrics.unit_vectors import UnitVectors
from dialtools.shown import first_line
from dialtools.streams.bytesio import display_name
from dialtools.streams.carried import scalars
from dialtools.streams.hash_index import HashIndex
from dialtools.streams.making import making, one_space
from dialtools.streams.schemas import NO_COLUMN, column_of
from dialtools.streams.vector_files import embedding_parts
from dialtools.streams.vectors import TEXT, Embeddings

ROW = "row"
HINT_OF_KEEP = "--keep names the fields to tell"


class Rows:
    """Some rows, numbered from 0 in their file.

    Attributes:
        vectors: the distinct ones, in the order in which they came.
        vector: (N,) which of them each row has.
        fields: a table of what is told of each, its number (`row`) first.
        number: (N,) that number.
        order, starts: (N,) rows by their vector, (V + 1,) where those of each vector begin.
        kept: the fields of the file that are told, by their names.
        made: what the file tells of its making; space: of it, what tells the model.
        answers: names of other vectors of the file, if these are its first: those of responses.
    """

    def __init__(
        self, *, vectors: str | None = None, keep: Sequence[str] = (), distinct: bool = False
    ) -> None:
        self.vectors = UnitVectors()
        self.space: dict[str, Any] = {}
        self.made: dict[str, Any] = {}
        self.answers: list[str] = []
        self.kept: dict[str, None] = {}
        self._name, self._keep = vectors, keep
        self._texts = HashIndex() if distinct else None
        self._seen = 0
        self._vector = [np.zeros(0, np.int32)]
        self._tables: list[pa.Table] = []

    def read(self, path: str) -> Rows:
        """Read a file, or a folder of parts.

        Raises:
            DataError: if it holds no rows, lacks a field or vectors, has a field of several types,
                or its vectors are of more than one model or length.
        """
        for part in embedding_parts([path]):
            self._add(part)
        if not self._seen:
            raise DataError("holds no rows", where=display_name(path))
        self.vector = np.concatenate(self._vector)
        try:
            self.fields = pa.concat_tables(self._tables, promote_options="permissive")
        except pa.ArrowException as error:
            message = f"a field is not of one type: {first_line(error)}"
            raise DataError(message, where=display_name(path), hint=HINT_OF_KEEP) from None
        self.number = self.fields[ROW].to_numpy()
        self.order = np.argsort(self.vector, kind="stable")
        self.starts = np.searchsorted(self.vector[self.order], np.arange(len(self.vectors) + 1))
        return self

    def _add(self, part: Embeddings) -> None:
        name, matrix_ND = part.chosen(self._name)
        first, *others = part.vectors
        self.answers = others if name == first else []
        self.space = one_space(self.space, part.metadata, where=part.name)
        self.made = self.made or making(part.metadata)
        names = part.kept(self._keep, usual(part))
        self.kept |= dict.fromkeys(names)
        fields = told(part, names, first=self._seen)
        self._seen += len(part)
        if self._texts is not None:
            _, new = self._texts.add(_keys(part.texts(name), first=self._seen - len(part)))
            matrix_ND, fields = matrix_ND[new], fields.take(pa.array(new))
        self._vector.append(self.vectors.add_distinct(matrix_ND, where=part.name))
        self._tables.append(fields)

    def expect_like(self, other: Rows) -> None:
        """Let vectors that are read from now on be of another's model and length."""
        self.space, self.vectors.dimension = other.space, other.vectors.dimension

    def place_of(self, number_Q: np.ndarray) -> np.ndarray:
        """Return (Q,) the places of rows by their numbers, -1 for one that is not there."""
        place_Q = np.minimum(np.searchsorted(self.number, number_Q), len(self) - 1)
        return np.where(self.number[place_Q] == number_Q, place_Q, -1)

    def __len__(self) -> int:
        return len(self.vector)


def told(part: Embeddings, names: Sequence[str], *, first: int) -> pa.Table:
    """Return some fields of the rows of a part, of which the first has a number.

    Raises:
        DataError: if a field is of several types.
    """
    try:
        columns = {name: _long(column_of(scalars(part.columns[name]))) for name in names}
    except NO_COLUMN as error:
        message = f"a field is not of one type: {first_line(error)}"
        raise DataError(message, where=part.name, hint=HINT_OF_KEEP) from None
    return pa.table({ROW: np.arange(first, first + len(part))} | without(columns, ROW))


def _long(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return texts, and lists of them, with 64-bit offsets: of all rows they may take gigabytes."""
    kind = column.type
    if pa.types.is_string(kind):
        return column.cast(pa.large_string())
    if pa.types.is_list(kind) and pa.types.is_string(kind.value_type):
        return column.cast(pa.large_list(pa.large_string()))
    return column


def usual(part: Embeddings) -> list[str]:
    """Return the fields that are told where none are named: the id, and what the vectors are of."""
    return ["id", *(name for field in part.fields or [TEXT] for name in field.split("+"))]


def columns_of(fields: pa.Table, places: np.ndarray) -> dict[str, pa.Array]:
    """Return what is told of some rows."""
    taken = fields.take(pa.array(places))
    return {name: taken[name].combine_chunks() for name in taken.column_names}


def without(columns: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return columns but for those of some names."""
    return {name: values for name, values in columns.items() if name not in names}


def _keys(texts: Sequence[Any], *, first: int) -> np.ndarray:
    """Return a 64-bit integer for each text, or list of turns; one without is like no other."""
    keys = (
        hash(text if isinstance(text, str) else (row,) if text is None else repr(text))
        for row, text in enumerate(texts, first)
    )
    return np.fromiter(keys, np.int64, len(texts))

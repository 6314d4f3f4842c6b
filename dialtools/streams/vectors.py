"""Embedding files: named matrices beside columns of ids, labels and texts.

N rows, D dimensions. In memory an embedding is a row of an N×D matrix, never a list of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa

from dialtools.errors import DataError, nearest, no_column
from dialtools.shown import listed, quoted
from dialtools.streams.making import making, options_of
from dialtools.streams.policy import Where
from dialtools.streams.rows import values
from dialtools.streams.sinks import json_line
from dialtools.streams.tally import counted

SUFFIX = "embedding"
TEXT = "text"
OFFERED = (
    (TEXT,),
    ("context", "response"),
    ("history", "response"),
    ("query",),
    ("text1", "text2"),
    ("sentence1", "sentence2"),
    ("anchor", "entailment", "contradiction"),
    ("premise", "hypothesis"),
    ("utterance",),
    ("content",),
)
"""The fields that are embedded where none are named: the first of these that a record has."""
MAKER = "dial-embed makes them"
KEEPER = "flags such as --label name columns, and dial-embed --keep carries them along"
MAKER_OF_SEVERAL = "dial-embed --field A,B makes A_embedding and B_embedding"


@dataclass
class Embeddings:
    """What an embedding file holds.

    Attributes:
        vectors: column name -> (N, D) float32; `embedding`, or `context_embedding`,
            `response_embedding`, ...
        columns: the other fields, N values each.
        metadata: key-value metadata of the file (provenance under `dialtools`).
        name: of the file, for messages.
        lacking: column -> the first of several files that has it not, though another has.
        rows: (N,) which rows of the file these are, from 0; None: all, in order.
    """

    vectors: dict[str, np.ndarray]
    columns: dict[str, list[Any]] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    name: str = ""
    rows: np.ndarray | None = None
    lacking: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.vectors.values()))) if self.vectors else 0

    @property
    def matrix(self) -> np.ndarray:
        """The (N, D) matrix of `embedding`, or the only one there is."""
        return self.chosen(None, "dial-embed --field NAME makes vectors of one field")[1]

    def chosen(self, name: str | None, hint: str = "--vectors names one") -> tuple[str, np.ndarray]:
        """Return name and matrix of the vectors of a name, or of the only ones, or of `embedding`.

        Args:
            name: `context` stands for `context_embedding`.
            hint: what to do where they are not there.
        """
        if name is None:
            name = next(iter(self.vectors)) if len(self.vectors) == 1 else SUFFIX
        elif not name.endswith(SUFFIX):
            name = f"{name}_{SUFFIX}"
        return name, self.vector(name, hint)

    def vector(self, name: str, hint: str = MAKER_OF_SEVERAL) -> np.ndarray:
        """Return a matrix by name, or raise DataError naming those there are."""
        if name not in self.vectors:
            raise DataError(
                f"no vectors {quoted(name)}; there are {listed(self.vectors) or 'none'}",
                where=self.name,
                hint=hint,
            )
        return self.vectors[name]

    def column(
        self, name: str, check: Callable[[Any, str], None] | None = None, hint: str | None = None
    ) -> list[Any]:
        """Return a column by name.

        Args:
            check: raises ValueError, with a message, for a value that is not as it should be.
            hint: what to do where no column has a name like it.

        Raises:
            DataError: naming the columns there are, or the row whose value does not pass.
        """
        if name not in self.columns:
            where = self.lacking.get(name, self.name)
            raise no_column(name, self.columns, where=where, hint=hint or KEEPER)
        if check:
            self._check(name, check)
        return self.columns[name]

    def column_if(self, name: str, *, usual: str) -> list[Any] | None:
        """Return a column; None if it is not there and has its usual name: nobody has named it.

        Raises:
            DataError: if it is not there, and has another name.
        """
        return self.columns.get(name) if name == usual else self.column(name)

    def _check(self, name: str, check: Callable[[Any, str], None]) -> None:
        for row, value in enumerate(self.columns[name]):
            try:
                check(value, name)
            except ValueError as error:
                raise DataError(str(error), where=Where(self.name, self.place(row))) from None

    def place(self, row: int) -> int:
        """Return the number of a row in its file, from 1."""
        return 1 + (row if self.rows is None else int(self.rows[row]))

    def kept(self, keep: Sequence[str], usual: Sequence[str]) -> list[str]:
        """Return the names of the columns that --keep names.

        Args:
            keep: names, `all` or `none`; where it is empty, or the usual ones, those there are.

        Raises:
            DataError: if one is not there.
        """
        known = list(self.columns)
        if tuple(keep) in (("all",), ("none",)):
            return known if keep[0] == "all" else []
        if not keep or tuple(keep) == tuple(usual):
            return [name for name in usual if name in known]
        for name in keep:
            if name not in known:
                raise DataError(
                    f"--keep: no field {quoted(name)}; there are {listed(known) or 'none'}",
                    where=self.name,
                    hint=nearest(name, known),
                )
        return list(keep)

    def texts(self, name: str) -> list[Any]:
        """Return what the vectors of a name are of.

        Raises:
            DataError: if there is no such column.
        """
        return self.columns[self.column_of(name)]

    def column_of(self, name: str) -> str:
        """Return the column that vectors are of: the one field that the file tells, or `text`.

        Raises:
            DataError: if it is not there.
        """
        column = name.removesuffix(f"_{SUFFIX}")
        if name == SUFFIX:
            column = self.fields[0] if len(self.fields) == 1 else TEXT
        if column not in self.columns:
            raise DataError(
                f"no column {column} beside {name}",
                where=self.name,
                hint=f"dial-embed --keep {column} carries it along",
            )
        return column

    @property
    def fields(self) -> list[str]:
        """The fields that its vectors are of, as --field names them; none if it does not tell."""
        options = options_of(making(self.metadata))
        if isinstance(named := options.get("field"), list) and named:
            return [str(field) for field in cast("list[Any]", named)]
        if self.vectors and SUFFIX not in self.vectors:
            return [name.removesuffix(f"_{SUFFIX}") for name in self.vectors]
        chosen = OFFERED if options.get("per") == "record" else ()
        alone = (names[0] for names in chosen if len(names) == 1)
        return [name for name in alone if name in self.columns][:1]

    def select(self, rows: np.ndarray) -> Embeddings:
        """Return the rows of an index array."""
        vectors = {name: matrix_ND[rows] for name, matrix_ND in self.vectors.items()}
        columns = {name: [values[i] for i in rows] for name, values in self.columns.items()}
        own = rows if self.rows is None else self.rows[rows]
        return Embeddings(vectors, columns, self.metadata, self.name, own, self.lacking)


def check_dimensions(matrix_ND: np.ndarray, known: int, *, where: str) -> None:
    """Refuse vectors of other dimensions than those that they are compared with.

    Raises:
        DataError: naming both.
    """
    if matrix_ND.shape[1] != known:
        own = counted(matrix_ND.shape[1], "dimension")
        raise DataError(f"vectors of {own} beside vectors of {known:,}", where=where)


def embedding_batch(
    columns: Mapping[str, Sequence[Any]],
    vectors: Mapping[str, np.ndarray],
    *,
    float16: bool = False,
) -> pa.RecordBatch:
    """Return an Arrow batch of columns and FixedSizeList vectors, each vector (N, D).

    Raises:
        DataError: if 16 bits do not hold a number.
    """
    arrays = {name: pa.array(values) for name, values in columns.items()}
    for name, matrix_ND in vectors.items():
        with np.errstate(over="ignore"):  # told below
            flat = np.ascontiguousarray(matrix_ND, np.float16 if float16 else np.float32).ravel()
        if float16 and not np.isfinite(flat).all():
            raise DataError("vectors with numbers beyond float16", hint="--dtype float32")
        arrays[name] = pa.FixedSizeListArray.from_arrays(pa.array(flat), matrix_ND.shape[1])
    return pa.RecordBatch.from_pydict(arrays)


def batch_matrix(batch: pa.RecordBatch, name: str) -> np.ndarray:
    """Return the (N, D) float32 vectors of a batch's column."""
    column = batch[name]
    flat = column.flatten().to_numpy()
    return flat.reshape(len(column), -1).astype(np.float32)


def embedding_lines(batch: pa.RecordBatch) -> bytes:
    """Return the rows of a batch as JSON lines, the vectors last."""
    vectors = {
        name: batch_matrix(batch, name) for name in batch.schema.names if name.endswith(SUFFIX)
    }
    columns = {name: values(batch[name]) for name in batch.schema.names if name not in vectors}
    lines: list[bytes] = []
    for i in range(batch.num_rows):
        facts = {name: values[i] for name, values in columns.items() if values[i] is not None}
        lines.append(json_line(facts | {name: rows[i] for name, rows in vectors.items()}))
    return b"".join(lines)

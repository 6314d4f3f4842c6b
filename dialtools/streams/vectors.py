"""Embedding files: named matrices beside columns of ids, labels and texts.

N rows, D dimensions. In memory an embedding is a row of an N×D matrix, never a list of floats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from dialtools.errors import DataError, nearest
from dialtools.streams.bytesio import open_input
from dialtools.streams.chunks import Chunk, input_format, read_chunks, records
from dialtools.streams.policy import Policy, Where

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = "embedding"


@dataclass
class Embeddings:
    """What an embedding file holds.

    Attributes:
        vectors: column name -> (N, D) float32; `embedding`, or `context_embedding`,
            `response_embedding`, ….
        columns: the other fields, N values each.
        metadata: key-value metadata of the file (provenance under `dialtools`).
    """

    vectors: dict[str, np.ndarray]
    columns: dict[str, list[Any]] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    name: str = ""

    def __len__(self) -> int:
        return len(next(iter(self.vectors.values()))) if self.vectors else 0

    @property
    def matrix(self) -> np.ndarray:
        """The (N, D) matrix of `embedding`, or the only one there is."""
        if len(self.vectors) == 1:
            return next(iter(self.vectors.values()))
        return self.vector(SUFFIX)

    def vector(self, name: str) -> np.ndarray:
        """Return a matrix by name, or raise DataError naming those there are."""
        if name not in self.vectors:
            raise DataError(
                f"no vectors {name!r}; there are {', '.join(self.vectors) or 'none'}",
                where=self.name,
            )
        return self.vectors[name]

    def column(self, name: str) -> list[Any]:
        """Return a column by name, or raise DataError naming those there are."""
        if name not in self.columns:
            known = list(self.columns)
            raise DataError(
                f"no column {name!r}; there are {', '.join(known) or 'none'}",
                where=self.name,
                hint=nearest(name, known),
            )
        return self.columns[name]

    def select(self, rows: np.ndarray) -> Embeddings:
        """Return the rows of an index array."""
        columns = {k: [v[i] for i in rows] for k, v in self.columns.items()}
        return Embeddings(
            {k: v[rows] for k, v in self.vectors.items()}, columns, self.metadata, self.name
        )


def embedding_batch(
    columns: Mapping[str, Sequence[Any]],
    vectors: Mapping[str, np.ndarray],
    *,
    float16: bool = False,
    schema: pa.Schema | None = None,
) -> pa.RecordBatch:
    """Return an Arrow batch of columns and FixedSizeList vectors, each vector (N, D)."""
    import pyarrow as pa

    kinds = {f.name: f.type for f in schema} if schema else {}
    arrays = {name: pa.array(values, kinds.get(name)) for name, values in columns.items()}
    for name, matrix_ND in vectors.items():
        flat = np.ascontiguousarray(matrix_ND, np.float16 if float16 else np.float32).reshape(-1)
        arrays[name] = pa.FixedSizeListArray.from_arrays(pa.array(flat), matrix_ND.shape[1])
    return pa.RecordBatch.from_pydict(arrays)


def read_embeddings(paths: Sequence[str]) -> Embeddings:
    """Read one or several embedding files (Parquet, Arrow, JSONL, .npy) as one.

    Raises:
        DataError: if a file has no vectors, or files differ in their vectors.
    """
    parts = [_read_npy(path) if path.endswith(".npy") else _read_table(path) for path in paths]
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part in parts[1:]:
        if {k: v.shape[1] for k, v in part.vectors.items()} != {
            k: v.shape[1] for k, v in first.vectors.items()
        }:
            raise DataError(f"its vectors are not those of {first.name}", where=part.name)
    shared = [name for name in first.columns if all(name in part.columns for part in parts)]
    vectors = {
        name: np.concatenate([part.vectors[name] for part in parts]) for name in first.vectors
    }
    columns = {name: [value for part in parts for value in part.columns[name]] for name in shared}
    return Embeddings(vectors, columns, first.metadata, ", ".join(p.name for p in parts))


def _read_npy(path: str) -> Embeddings:
    """A bare matrix; ids and labels may lie beside it in `FILE.columns.jsonl`."""
    try:
        with open_input(path) as stream:
            matrix = np.load(stream, allow_pickle=False)
    except ValueError as error:
        raise DataError(f"not a NumPy matrix: {error}", where=path) from None
    beside = Path(f"{path}.columns.jsonl")
    rows = (
        [orjson.loads(line) for line in beside.read_bytes().splitlines()] if beside.exists() else []
    )
    columns = {
        name: [row.get(name) for row in rows]
        for name in dict.fromkeys(k for row in rows for k in row)
    }
    return Embeddings({SUFFIX: _checked(matrix, path)}, columns, {}, path)


def _read_table(path: str) -> Embeddings:
    import pyarrow as pa

    with open_input(path) as stream:
        kind = input_format(path, None, stream.peek(6)[:6])
        if kind == "jsonl":
            return _read_jsonl(stream, path)
    batches = [chunk.data for chunk in read_chunks([path])]
    if not batches:
        raise DataError("holds no embeddings", where=path)
    table = pa.Table.from_batches(batches)
    vectors = {
        f.name: _checked(_matrix(table[f.name], path), path)
        for f in table.schema
        if f.name.endswith(SUFFIX)
    }
    if not vectors:
        raise DataError(
            f"has no column named embedding or *_embedding, but {', '.join(table.column_names)}",
            where=path,
        )
    columns = {name: table[name].to_pylist() for name in table.column_names if name not in vectors}
    metadata = {
        k.decode(): v.decode()
        for k, v in (table.schema.metadata or {}).items()
        if k != b"ARROW:schema"
    }
    return Embeddings(vectors, columns, metadata, path)


def _matrix(column: pa.ChunkedArray, path: str) -> np.ndarray:
    import pyarrow as pa

    if column.null_count:
        raise DataError(f"column {column.type} has empty rows", where=path)
    array = column.combine_chunks()
    if not pa.types.is_fixed_size_list(array.type):
        rows = array.to_pylist()
        if len({len(row) for row in rows}) > 1:
            raise DataError("vectors differ in length", where=path)
        return np.asarray(rows, np.float32)
    flat = array.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(array), array.type.list_size)


def _read_jsonl(stream: Any, path: str) -> Embeddings:
    vectors: dict[str, list[np.ndarray]] = {}
    rows: list[dict[str, Any]] = []
    n = 0
    for n, record in records(Chunk(path, 1, "jsonl", stream.read()), Policy()):
        rows.append({name: value for name, value in record.items() if not name.endswith(SUFFIX)})
        for name, value in record.items():
            if name.endswith(SUFFIX):
                try:
                    vectors.setdefault(name, []).append(np.asarray(value, np.float32))
                except (TypeError, ValueError):
                    raise DataError(f"{name}: expected numbers", where=Where(path, n)) from None
    if not vectors:
        raise DataError("holds no embeddings (a field named embedding or *_embedding)", where=path)
    try:
        matrices = {name: _checked(np.stack(some), path) for name, some in vectors.items()}
    except ValueError:
        raise DataError("vectors differ in length", where=path) from None
    short = next((name for name, matrix in matrices.items() if len(matrix) < len(rows)), None)
    if short:
        raise DataError(
            f"{len(rows) - len(matrices[short])} of {len(rows)} rows have no {short}", where=path
        )
    columns = {
        name: [row.get(name) for row in rows]
        for name in dict.fromkeys(k for row in rows for k in row)
    }
    return Embeddings(matrices, columns, {}, path)


def _checked(matrix: np.ndarray, path: str) -> np.ndarray:
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.number):
        raise DataError(
            f"expected a matrix of numbers, got shape {matrix.shape} of {matrix.dtype}", where=path
        )
    matrix = np.asarray(matrix, np.float32)
    if not np.isfinite(matrix).all():
        raise DataError(
            f"row {int(np.nonzero(~np.isfinite(matrix).all(1))[0][0]) + 1} is not finite",
            where=path,
        )
    return matrix

"""Embedding files: named matrices beside columns of ids, labels and texts.

N rows, D dimensions. In memory an embedding is a row of an N×D matrix, never a list of floats.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import orjson
import pyarrow as pa

from dialtools.catalog import load
from dialtools.errors import DataError, nearest, no_column
from dialtools.shown import cut, listed, quoted
from dialtools.streams.bytesio import display_name, open_input
from dialtools.streams.chunks import Chunk, chunks_of, read_chunks, read_records, records
from dialtools.streams.formats import FORMATS, input_format
from dialtools.streams.making import making, one_space, options_of
from dialtools.streams.parts import unfolded
from dialtools.streams.policy import Policy, Where
from dialtools.streams.rows import values
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
            raise no_column(name, self.columns, where=self.name, hint=hint)
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
        for row, value in enumerate(self.columns[name], 1):
            try:
                check(value, name)
            except ValueError as error:
                raise DataError(str(error), where=Where(self.name, row)) from None

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
        """Return what the vectors of a name are of: the one field that the file tells, or `text`.

        Raises:
            DataError: if there is no such column.
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
        return self.columns[column]

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
        return Embeddings(vectors, columns, self.metadata, self.name)


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
    option = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    lines: list[bytes] = []
    for i in range(batch.num_rows):
        facts = {name: values[i] for name, values in columns.items() if values[i] is not None}
        row = facts | {name: matrix_ND[i] for name, matrix_ND in vectors.items()}
        lines.append(orjson.dumps(row, default=str, option=option))
    return b"".join(lines)


def read_embeddings(paths: Sequence[str], *, limit: int | None = None) -> Embeddings:
    """Read one or several embedding files (Parquet, Arrow, JSONL, .npy, .fbin) as one.

    Args:
        paths: files, or folders of parts; `-`, or no path at all, is stdin.
        limit: the first so many rows alone.

    Raises:
        DataError: if a file has no vectors, files differ in their vectors or models, or there are
            no rows.
    """
    parts = [_read_file(path) for path in paths or ("-",)]
    check_one_space(parts)
    whole = parts[0] if len(parts) == 1 else _joined(parts)
    if limit is not None and limit < len(whole):
        whole = whole.select(np.arange(limit))
    if not len(whole):
        raise DataError("holds no rows", where=whole.name)
    return whole


def check_one_space(parts: Iterable[Embeddings]) -> None:
    """Refuse vectors of several models: between them neither cosines nor classes mean anything.

    Raises:
        DataError: naming the first file of another model than those before, as far as they tell.
    """
    space: dict[str, Any] = {}
    for part in parts:
        space = one_space(space, part.metadata, where=part.name)


def embedding_parts(paths: Sequence[str]) -> Iterator[Embeddings]:
    """Yield what embedding files hold, a chunk at a time; holds one, of a bare matrix the whole.

    Of a pipe a chunk is what it has.

    Raises:
        DataError: as `read_embeddings`, but for files that differ, or hold no rows.
    """
    for path in unfolded(paths):
        with _opened(path) as (stream, kind):
            if FORMATS[kind].vectors:
                yield _read_stream(stream, kind, path)
                continue
            for chunk in chunks_of(stream, path, kind, prompt=True):
                if chunk.columnar or chunk.data.strip():
                    yield _of_chunks([chunk], kind, chunk.name)


def holds_vectors(path: str) -> bool:
    """Tell whether a file is one of embeddings, not of other records; reads its first chunk.

    One without rows may be.

    Raises:
        DataError: if it cannot be read.
    """
    with _opened(path) as (stream, kind):
        chunk = None if FORMATS[kind].vectors else next(chunks_of(stream, path, kind), None)
        if chunk is None:
            return True
        names = chunk.data.schema.names if chunk.columnar else None
        if names is None:
            names = next((list(record) for _, record in records(chunk, Policy())), [SUFFIX])
    return any(name.endswith(SUFFIX) for name in names)


def _joined(parts: Sequence[Embeddings]) -> Embeddings:
    first = parts[0]
    for part in parts[1:]:
        if _dimensions(part) != _dimensions(first):
            raise DataError(f"its vectors are not those of {first.name}", where=part.name)
    shared = [name for name in first.columns if all(name in part.columns for part in parts)]
    return Embeddings(
        vectors={
            name: np.concatenate([part.vectors[name] for part in parts]) for name in first.vectors
        },
        columns={name: list(chain(*(part.columns[name] for part in parts))) for name in shared},
        metadata=first.metadata,
        name=", ".join(part.name for part in parts),
    )


def _dimensions(embeddings: Embeddings) -> dict[str, int]:
    return {name: matrix_ND.shape[1] for name, matrix_ND in embeddings.vectors.items()}


def _read_file(path: str) -> Embeddings:
    """Read a file, a folder of parts, or stdin; it is opened once, as a pipe can be."""
    if (parts := unfolded([path])) != [path]:
        return _of_chunks(read_chunks(parts), input_format(parts[0], None), display_name(path))
    with _opened(path) as (stream, kind):
        return _read_stream(stream, kind, path)


@contextmanager
def _opened(path: str) -> Generator[tuple[io.BufferedReader, str]]:
    """Yield a file that can hold embeddings, and its format."""
    with open_input(path) as stream:
        kind = input_format(path, None, stream.peek())
        if not FORMATS[kind].vectors and not FORMATS[kind].writer:
            raise DataError(f"{kind} holds no embeddings", where=display_name(path), hint=MAKER)
        yield stream, kind


def _read_stream(stream: io.BufferedReader, kind: str, path: str) -> Embeddings:
    name = display_name(path)
    if FORMATS[kind].vectors:
        matrix_ND = load(FORMATS[kind].vectors)(stream, name)
        return _with_columns(_checked(matrix_ND, name), path, FORMATS[kind].beside)
    return _of_chunks(chunks_of(stream, path, kind), kind, name)


def embeddings_of(chunk: Chunk) -> Embeddings:
    """Return what a chunk of an embedding file holds.

    Raises:
        DataError: if it holds no vectors, or some that are no numbers or differ in length.
    """
    return (_of_batches if chunk.columnar else _of_lines)([chunk], chunk.name)


def _of_chunks(chunks: Iterable[Chunk], kind: str, name: str) -> Embeddings:
    return (_of_lines if FORMATS[kind].lines else _of_batches)(chunks, name)


def _with_columns(matrix_ND: np.ndarray, path: str, suffix: str) -> Embeddings:
    """Return a bare matrix with the ids and labels that may lie beside it.

    Raises:
        DataError: if they are of more rows, or of fewer.
    """
    beside = f"{path}{suffix}"
    rows: list[dict[str, Any]] = []
    if Path(beside).exists():
        rows = [record for _, record in read_records([beside], policy=Policy())]
        if len(rows) != len(matrix_ND):
            message = f"{counted(len(rows), 'row')} beside a matrix of {len(matrix_ND):,}"
            raise DataError(message, where=beside)
    return Embeddings({SUFFIX: matrix_ND}, _by_column(rows), {}, display_name(path))


def _by_column(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return rows by field; what a row lacks is None."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _of_batches(chunks: Iterable[Chunk], path: str) -> Embeddings:
    batches = [chunk.data for chunk in chunks]
    if not batches:
        raise DataError("holds no embeddings", where=path, hint=MAKER)
    try:
        table = pa.Table.from_batches(batches)
    except pa.ArrowInvalid:  # streams one after another
        raise DataError("its batches differ in their columns", where=path) from None
    names = [name for name in table.column_names if name.endswith(SUFFIX)]
    if not names:
        columns = listed(table.column_names)
        message = f"has no column named embedding or *_embedding, but {columns}"
        raise DataError(message, where=path, hint=MAKER)
    return Embeddings(
        {name: _checked(_matrix(table[name], name, path), path) for name in names},
        {name: _values(table[name]) for name in table.column_names if name not in names},
        _text_metadata(table.schema),
        path,
    )


def _values(column: pa.ChunkedArray) -> list[Any]:
    return list(chain.from_iterable(map(values, column.chunks)))


def _text_metadata(schema: pa.Schema) -> dict[str, str]:
    """Return the metadata that a writer gave, without what pyarrow adds."""
    metadata: dict[bytes, bytes] = schema.metadata or {}
    return {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in metadata.items()
        if key != b"ARROW:schema"
    }


def _matrix(column: pa.ChunkedArray, name: str, path: str) -> np.ndarray:
    kinds = pa.types
    is_list = (kinds.is_fixed_size_list, kinds.is_list, kinds.is_large_list)
    numbers = (kinds.is_floating, kinds.is_integer)
    if not any(is_kind(column.type) for is_kind in is_list) or not any(
        is_kind(column.type.value_type) for is_kind in numbers
    ):
        what = f"column {name}: expected lists of numbers, got {cut(str(column.type))}"
        raise DataError(what, where=path)
    if column.null_count:
        first = int(column.is_null().to_numpy().argmax()) + 1
        raise DataError(f"column {name}: row {first:,} is empty", where=path)
    width = _width(column, path)
    blocks = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    if len(blocks) == 1:
        return blocks[0].reshape(len(column), width)
    # chunk by chunk: one array of lists has 2^31 numbers at most
    matrix_ND = np.empty((len(column), width), np.float32)
    with np.errstate(over="ignore"):  # beyond float32 is not finite, which is told
        np.concatenate([np.zeros(0, np.float32), *blocks], out=matrix_ND.reshape(-1))
    return matrix_ND


def _width(column: pa.ChunkedArray, path: str) -> int:
    """Return how many numbers each list of a column has."""
    if pa.types.is_fixed_size_list(column.type):
        return column.type.list_size
    of_chunks = [chunk.value_lengths().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    lengths = set(np.unique(np.concatenate([np.zeros(0, np.int64), *of_chunks])).tolist())
    if len(lengths) != 1:
        raise DataError("vectors differ in length", where=path)
    return lengths.pop()


def _of_lines(chunks: Iterable[Chunk], path: str) -> Embeddings:
    """Read embeddings of which each is a line of JSON.

    Each vector becomes float32 as it is read: as lists of floats all of them would fill memory.
    """
    vectors: dict[str, list[np.ndarray]] = {}
    rows: list[dict[str, Any]] = []
    numbered = chain.from_iterable(records(chunk, Policy()) for chunk in chunks)
    for number, record in numbered:
        names = [name for name in record if name.endswith(SUFFIX)]
        for name in names:
            vector = _vector(record.pop(name), name, Where(path, number))
            before = vectors.setdefault(name, [])
            if before and len(before[0]) != len(vector):
                message = f"{name}: of length {len(vector):,}, not {len(before[0]):,} as before"
                raise DataError(message, where=Where(path, number))
            before.append(vector)
        rows.append(record)
    if not vectors:
        message = "holds no embeddings (a field named embedding or *_embedding)"
        raise DataError(message, where=path, hint=MAKER)
    for name, of_rows in vectors.items():
        if len(of_rows) < len(rows):
            missing = len(rows) - len(of_rows)
            raise DataError(f"{missing} of {len(rows)} rows have no {name}", where=path)
    matrices = {name: _checked(np.stack(of_rows), path) for name, of_rows in vectors.items()}
    return Embeddings(matrices, _by_column(rows), {}, path)


def _vector(value: Any, name: str, where: Where) -> np.ndarray:
    try:
        vector = np.asarray(value)
    except ValueError:  # lists of several lengths
        vector = np.asarray(None)
    if vector.ndim != 1 or vector.dtype.kind not in "fiu":  # numpy reads "1", true and null, too
        raise DataError(f"{name}: expected numbers", where=where)
    if np.isin(vector, (0, 1)).any() and bool in map(type, value):  # true beside numbers is 1
        raise DataError(f"{name}: expected numbers, got true or false", where=where)
    with np.errstate(over="ignore"):  # beyond float32 is not finite
        vector = vector.astype(np.float32)
    if not np.isfinite(vector).all():
        raise DataError(f"{name}: not finite", where=where)
    return vector


def _checked(matrix: np.ndarray, path: str) -> np.ndarray:
    if matrix.ndim != 2 or not matrix.shape[1]:
        message = f"expected vectors of one length or more, got shape {matrix.shape}"
        raise DataError(message, where=path)
    with np.errstate(over="ignore"):  # beyond float32 is not finite, which is told
        matrix = np.asarray(matrix, np.float32)
    finite = np.isfinite(matrix).all(1)
    if not finite.all():
        raise DataError(f"row {int(np.argmin(finite)) + 1} is not finite", where=path)
    return matrix

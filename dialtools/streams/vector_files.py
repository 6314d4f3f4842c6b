"""Embedding files read: Parquet, Arrow, JSON lines, .npy and .fbin.

N rows, D dimensions. In memory an embedding is a row of an N×D matrix, never a list of floats.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from dialtools.catalog import load
from dialtools.errors import DataError
from dialtools.shown import cut, listed
from dialtools.streams.bytesio import display_name, open_input
from dialtools.streams.chunks import ROWS, Chunk, chunks_of, read_chunks, read_records, records
from dialtools.streams.formats import FORMATS, input_format, names_beside
from dialtools.streams.making import making, one_space
from dialtools.streams.parts import unfolded
from dialtools.streams.policy import Policy, Where
from dialtools.streams.rows import values
from dialtools.streams.schemas import by_column
from dialtools.streams.tally import counted
from dialtools.streams.vectors import MAKER, SUFFIX, Embeddings

MATRIX_ROWS = 4096
"""Of a bare matrix that are records at once."""
AS_FLOAT32 = " in float32 (3.4e38 at most)"
"""What numbers that are read become."""


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


def check_one_length(parts: Iterable[Embeddings]) -> None:
    """Refuse vectors of length 1 beside vectors of any, as far as files tell.

    It is for files that are one, and for who takes vectors as they are: of others than it has
    learnt from it knows nothing.

    Raises:
        DataError: naming the first that is unlike those before.
    """
    known = {True: "", False: ""}
    for part in parts:
        of_length_1 = making(part.metadata).get("normalize")
        if of_length_1 not in (True, False):
            continue
        known[of_length_1] = known[of_length_1] or part.name
        if other := known[not of_length_1]:
            own, theirs = ("length 1", "any length")[:: 1 if of_length_1 else -1]
            raise DataError(
                f"vectors of {own}, those of {other} of {theirs}",
                where=part.name,
                hint="dial-embed --normalize for all, or for none",
            )


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


def vector_chunks(paths: Sequence[str], *, format: str | None, policy: Policy) -> Iterator[Chunk]:
    """Yield the chunks of embedding files; of a bare matrix, which is held, rows are records.

    Args:
        policy: gets lines that are longer than their bound.

    Raises:
        DataError: if one cannot be opened, is damaged, or is of a format that holds no vectors.
    """
    for path in unfolded(paths):
        with _opened(path, format) as (stream, kind):
            if FORMATS[kind].vectors:
                yield from _rows_of_matrix(_read_stream(stream, kind, path))
            else:
                yield from chunks_of(stream, path, kind, policy=policy)


def _rows_of_matrix(held: Embeddings) -> Iterator[Chunk]:
    for start in range(0, len(held), MATRIX_ROWS):
        part = held.select(np.arange(start, min(start + MATRIX_ROWS, len(held))))
        fields = zip(*part.columns.values(), part.matrix, strict=True)
        rows = [dict(zip([*part.columns, SUFFIX], values, strict=True)) for values in fields]
        yield Chunk(held.name, start + 1, ROWS, rows)


def single_rows(chunk: Chunk, policy: Policy) -> Iterator[Chunk]:
    """Yield each record of a chunk as a chunk; what is no record goes to the policy."""
    if chunk.columnar:
        for row in range(chunk.data.num_rows):
            yield replace(chunk, first=chunk.first + row, data=chunk.data.slice(row, 1))
        return
    for number, record in records(chunk, policy):
        yield Chunk(chunk.name, number, ROWS, [record])


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
        if chunk.columnar:
            names = chunk.data.schema.names
        else:
            _, names = next(records(chunk, Policy(maker=MAKER)), (0, [SUFFIX]))
    return any(name.endswith(SUFFIX) for name in names)


def _joined(parts: Sequence[Embeddings]) -> Embeddings:
    first = parts[0]
    check_one_length(parts)
    for part in parts[1:]:
        if _dimensions(part) != _dimensions(first):
            raise DataError(f"its vectors are not those of {first.name}", where=part.name)
    every = {name for part in parts for name in part.columns}
    lacking = {
        name: part.name for part in reversed(parts) for name in every.difference(part.columns)
    }
    shared = [name for name in first.columns if name not in lacking]
    return Embeddings(
        vectors={
            name: np.concatenate([part.vectors[name] for part in parts]) for name in first.vectors
        },
        columns={name: list(chain(*(part.columns[name] for part in parts))) for name in shared},
        metadata=first.metadata,
        name=", ".join(part.name for part in parts),
        lacking=lacking,
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
def _opened(path: str, format: str | None = None) -> Generator[tuple[io.BufferedReader, str]]:
    """Yield a file that can hold embeddings, and its format."""
    with open_input(path) as stream:
        kind = input_format(path, format, stream.peek())
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
    beside = next((name for name in names_beside(path, suffix) if Path(name).exists()), None)
    rows: list[dict[str, Any]] = []
    if beside:
        rows = [record for _, record in read_records([beside], policy=Policy(maker=MAKER))]
        if len(rows) != len(matrix_ND):
            message = f"{counted(len(rows), 'row')} beside a matrix of {len(matrix_ND):,}"
            raise DataError(message, where=beside)
    return Embeddings({SUFFIX: matrix_ND}, by_column(rows), {}, display_name(path))


def _of_batches(chunks: Iterable[Chunk], path: str) -> Embeddings:
    chunks = list(chunks)
    if not chunks:
        raise DataError("holds no embeddings", where=path, hint=MAKER)
    space: dict[str, Any] = {}
    for chunk in chunks:  # of the files of a folder, or of streams one after another
        space = one_space(space, _text_metadata(chunk.data.schema), where=chunk.name)
    first = chunks[0].first
    try:
        table = pa.Table.from_batches([chunk.data for chunk in chunks])
    except pa.ArrowInvalid:  # streams one after another
        raise DataError("its batches differ in their columns", where=path) from None
    names = [name for name in table.column_names if name.endswith(SUFFIX)]
    if not names:
        columns = listed(table.column_names)
        message = f"has no column named embedding or *_embedding, but {columns}"
        raise DataError(message, where=path, hint=MAKER)
    others = (name for name in table.column_names if name not in names)
    return Embeddings(
        {name: _checked(_matrix(table[name], name, path, first), path, first) for name in names},
        {name: list(chain.from_iterable(map(values, table[name].chunks))) for name in others},
        _text_metadata(table.schema),
        path,
    )


def _text_metadata(schema: pa.Schema) -> dict[str, str]:
    """Return the metadata that a writer gave, without what pyarrow adds."""
    metadata: dict[bytes, bytes] = schema.metadata or {}
    return {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in metadata.items()
        if key != b"ARROW:schema"
    }


def _matrix(column: pa.ChunkedArray, name: str, path: str, first: int) -> np.ndarray:
    kind = column.type
    is_list = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    if not is_list or not (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)):
        what = f"column {name}: expected lists of numbers, got {cut(str(kind))}"
        raise DataError(what, where=path)
    if column.null_count:
        row = first + int(column.is_null().to_numpy().argmax())
        raise DataError(f"column {name}: row {row:,} is empty", where=path)
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
    if types.is_fixed_size_list(column.type):
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
    numbered = chain.from_iterable(records(chunk, Policy(maker=MAKER)) for chunk in chunks)
    for number, record in numbered:
        names = [name for name in record if name.endswith(SUFFIX)]
        for name in names:
            vector = _vector(record[name], name, Where(path, number))
            before = vectors.setdefault(name, [])
            if before and len(before[0]) != len(vector):
                message = f"{name}: of length {len(vector):,}, not {len(before[0]):,} as before"
                raise DataError(message, where=Where(path, number))
            before.append(vector)
        rows.append({name: value for name, value in record.items() if name not in names})
    if not vectors:
        message = "holds no embeddings (a field named embedding or *_embedding)"
        raise DataError(message, where=path, hint=MAKER)
    for name, of_rows in vectors.items():
        if len(of_rows) < len(rows):
            missing = len(rows) - len(of_rows)
            raise DataError(f"{missing} of {len(rows)} rows have no {name}", where=path)
    matrices = {name: _checked(np.stack(of_rows), path) for name, of_rows in vectors.items()}
    return Embeddings(matrices, by_column(rows), {}, path)


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
        raise DataError(f"{name}: not finite{AS_FLOAT32}", where=where)
    return vector


def _checked(matrix: np.ndarray, path: str, first: int = 1) -> np.ndarray:
    if matrix.ndim != 2 or not matrix.shape[1]:
        message = f"expected vectors of one length or more, got shape {matrix.shape}"
        raise DataError(message, where=path)
    with np.errstate(over="ignore"):  # beyond float32 is not finite, which is told
        matrix = np.asarray(matrix, np.float32)
    finite = np.isfinite(matrix).all(1)
    if not finite.all():
        row = first + int(np.argmin(finite))
        raise DataError(f"row {row:,} is not finite{AS_FLOAT32}", where=path)
    return matrix

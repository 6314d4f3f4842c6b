"""Records, lines and batches to a file or stdout, compressed by suffix, atomic."""

from __future__ import annotations

import gzip
import io
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from dialtools.errors import ConfigError, DataError
from dialtools.options import OUTPUT_FORMATS
from dialtools.streams.atomic import atomic_file
from dialtools.streams.chunks import BATCH_ROWS, SUFFIXES

if TYPE_CHECKING:
    import pyarrow as pa

FLUSH_SECONDS = 0.1


def output_format(path: str, to: str | None) -> str:
    """Return the format by --to, else by the suffix of the file, else JSONL.

    Raises:
        ConfigError: if it is binary and stdout is a terminal.
    """
    suffixes = [s for s in Path(path).suffixes if s not in (".gz", ".zst")]
    kind = to or SUFFIXES.get(suffixes[-1] if suffixes else "", "jsonl")
    if kind not in OUTPUT_FORMATS:
        raise ConfigError(f"cannot write {kind}", hint=f"--to {', '.join(OUTPUT_FORMATS)}")
    if path == "-" and kind not in ("jsonl",) and sys.stdout.isatty():
        raise ConfigError(
            f"will not write {kind} to a terminal", hint="name -o FILE, or --to jsonl"
        )
    return kind


@contextmanager
def open_output(path: str, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open stdout for `-`, or a file that appears whole or not at all; compress for `.gz` and `.zst`."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with (
        atomic_file(path, overwrite=overwrite) as temporary,
        temporary.open("wb") as raw,
        _compressed(raw, path) as file,
    ):
        yield file


@contextmanager
def _compressed(raw: BinaryIO, path: str) -> Iterator[BinaryIO]:
    if path.endswith(".gz"):
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as file:
            yield file  # type: ignore[misc]
    elif path.endswith(".zst"):
        import zstandard

        with zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as file:
            yield file  # type: ignore[misc]
    else:
        yield raw


@contextmanager
def writer(
    output: str,
    *,
    format: str,
    overwrite: bool = False,
    metadata: dict[str, str] | None = None,
    floats: bool = False,
) -> Iterator[Callable[[Any], None]]:
    """Open an output; the yielded function takes blobs of whole lines (jsonl) or Arrow batches (arrow, parquet).

    Args:
        metadata: key-value metadata of a binary file.
        floats: embedding files: BYTE_STREAM_SPLIT and no dictionary on the floats.
    """
    with open_output(output, overwrite=overwrite) as file:
        if format == "jsonl":
            yield _line_writer(file, flush=output == "-")
            return
        sink = (
            _ArrowSink(file, metadata or {})
            if format == "arrow"
            else _ParquetSink(file, metadata or {}, floats)
        )
        yield sink.write
        sink.close()


def write_whole(file: BinaryIO, blob: Any) -> None:
    """Write all of it, or raise: stdout under PYTHONUNBUFFERED is a raw file, which may write a part and say no more."""
    written = file.write(blob)
    while isinstance(file, io.RawIOBase) and written < len(blob):
        written += file.write(memoryview(blob)[written:])


def _line_writer(file: BinaryIO, *, flush: bool) -> Callable[[bytes], None]:
    last = 0.0

    def write(blob: bytes) -> None:
        nonlocal last
        write_whole(file, blob)
        if flush and (now := time.monotonic()) - last >= FLUSH_SECONDS:
            file.flush()
            last = now

    return write


class _ArrowSink:
    """An Arrow IPC stream, begun with its first batch."""

    def __init__(self, file: BinaryIO, metadata: dict[str, str]) -> None:
        self.file, self.metadata, self.stream = file, metadata, None

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        if self.stream is None:
            schema = batch.schema.with_metadata({**(batch.schema.metadata or {}), **self.metadata})
            self.stream = pa.ipc.new_stream(_Bytes(self.file), schema)
        self.stream.write_batch(batch.replace_schema_metadata(self.stream_metadata(batch)))

    def stream_metadata(self, batch: pa.RecordBatch) -> dict[Any, Any]:
        return {**(batch.schema.metadata or {}), **self.metadata}

    def close(self) -> None:
        import pyarrow as pa

        if self.stream is None:  # a table without rows, which readers can open
            self.stream = pa.ipc.new_stream(_Bytes(self.file), pa.schema([], self.metadata))
        self.stream.close()


class _ParquetSink:
    """A Parquet file (zstd), begun with its first batch."""

    def __init__(self, file: BinaryIO, metadata: dict[str, str], floats: bool) -> None:
        self.file, self.metadata, self.floats, self.parquet = file, metadata, floats, None

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow.parquet as pq

        if self.parquet is None:
            self.schema = _plain_schema(batch.schema, self.metadata)
            self.parquet = pq.ParquetWriter(
                _Bytes(self.file), self.schema, compression="zstd", **self._float_settings()
            )
        self.parquet.write_batch(_plain_batch(batch).cast(self.schema))

    def _float_settings(self) -> dict[str, Any]:
        import pyarrow as pa

        if not self.floats:
            return {}
        vectors = [f for f in self.schema if pa.types.is_fixed_size_list(f.type)]
        split = [f"{f.name}.list.element" for f in vectors if f.type.value_type != pa.float16()]
        words = [f.name for f in self.schema if f not in vectors and not pa.types.is_nested(f.type)]
        return {"use_byte_stream_split": split or False, "use_dictionary": words or False}

    def close(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self.parquet is None:
            self.parquet = pq.ParquetWriter(_Bytes(self.file), pa.schema([], self.metadata))
        self.parquet.close()


class _Bytes(io.RawIOBase):
    """A file that pyarrow may write to but not close, and whose broken pipe stays one."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.written = file, 0

    def tell(self) -> int:  # a pipe does not know; Parquet asks
        return self.written

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # type: ignore[override]
        write_whole(self.file, data)
        self.written += len(data)
        return len(data)

    def flush(self) -> None:
        if not self.closed:
            self.file.flush()


def _plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Turn list views into lists (pyarrow 26 casts views that begin at 0 into lists without their last offset)."""
    import numpy as np
    import pyarrow as pa

    columns = []
    for column in batch.columns:
        if pa.types.is_list_view(column.type):
            offsets = np.concatenate([[0], np.cumsum(np.asarray(column.sizes))]).astype(np.int32)
            column = pa.ListArray.from_arrays(pa.array(offsets), column.flatten())
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _plain_schema(schema: pa.Schema, metadata: dict[str, str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [pa.field(f.name, _storable(f.type)) for f in schema],
        {**(schema.metadata or {}), **metadata},
    )


def _storable(kind: pa.DataType) -> pa.DataType:
    """Parquet knows neither list views nor dictionaries by batch."""
    import pyarrow as pa

    if pa.types.is_list_view(kind):
        return pa.list_(_storable(kind.value_type))
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def write_records(
    records: Iterable[dict[str, Any]],
    output: str,
    *,
    to: str | None = None,
    overwrite: bool = False,
    metadata: dict[str, str] | None = None,
) -> None:
    """Write dicts in the format of --to or of the file's suffix; holds one batch."""
    kind = output_format(output, to)
    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    payloads = (
        (orjson.dumps(r, option=option) for r in records)
        if kind == "jsonl"
        else record_batches(records)
    )
    with writer(output, format=kind, overwrite=overwrite, metadata=metadata) as write:
        for payload in payloads:
            write(payload)


def record_batches(records: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    """Batch dicts under the schema that the first batch shows."""
    import pyarrow as pa

    rows, schema = iter(records), None
    while part := list(islice(rows, BATCH_ROWS)):
        try:
            batch = pa.RecordBatch.from_pylist(part, schema=schema or _schema(part))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(
                f"records do not fit one table: {error}", hint="--to jsonl takes any record"
            ) from None
        schema = batch.schema
        yield batch


def _schema(rows: list[dict[str, Any]]) -> pa.Schema:
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    return pa.schema([(name, pa.array([row.get(name) for row in rows]).type) for name in names])

"""Records, lines and batches to a file or stdout, compressed by suffix, atomic.

pyarrow is imported inside functions: light commands write lines, and should not pay for tables.
"""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import orjson

from dialtools.catalog import load
from dialtools.errors import ConfigError
from dialtools.shown import printable_lines
from dialtools.streams.atomic import atomic_file, is_special
from dialtools.streams.failure import telling_failure
from dialtools.streams.formats import (
    ARROW_FILES,
    DEFAULT,
    FOREIGN,
    FORMATS,
    OUTPUT_FORMATS,
    by_suffix,
    is_archive,
    last_suffix,
)
from dialtools.streams.pipes import widen

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

Write = Callable[[Any], None]


def output_format(
    path: str,
    to: str | None,
    *,
    formats: Sequence[str] = OUTPUT_FORMATS,
    default: str = DEFAULT,
    dry: bool = False,
) -> str:
    """Return the format by --to, else by the suffix of the file, else the default.

    Args:
        formats: those that the command can write.
        dry: nothing will be written, so a terminal is no obstacle.

    Raises:
        ConfigError: if it cannot be written here: stdout is a terminal and the format binary, or
            the format cannot be streamed.
    """
    kind = to or by_suffix(path) or default
    if not to and (last_suffix(path) in FOREIGN or is_archive(path)):
        hint = f"--to {', '.join(formats)}; .gz or .zst compresses lines"
        raise ConfigError(f"cannot write {last_suffix(path)} files", hint=hint)
    if kind not in formats:
        raise ConfigError(f"cannot write {kind}", hint=f"--to {', '.join(formats)}")
    if FORMATS[kind].seeks and (path == "-" or Path(path).is_fifo()):
        where = "stdout" if path == "-" else "a pipe"
        raise ConfigError(f"{kind} cannot be streamed to {where}", hint="name -o FILE")
    if path == "-" and not FORMATS[kind].lines and sys.stdout.isatty() and not dry:
        hint = "name -o FILE, or --to jsonl"
        raise ConfigError(f"will not write {kind} to a terminal", hint=hint)
    return kind


def writer(
    output: str,
    *,
    format: str,
    overwrite: bool = False,
    metadata: Mapping[str, str] | None = None,
    floats: bool = False,
) -> AbstractContextManager[Write]:
    """Open an output; the yielded function takes what the format has: blobs of lines, or batches.

    Args:
        metadata: key-value metadata of a table.
        floats: embedding files: the columns of floats are stored as such (BYTE_STREAM_SPLIT and no
            dictionary in Parquet).
    """
    opened = load(FORMATS[format].writer)
    return opened(output, overwrite=overwrite, metadata=metadata or {}, floats=floats)


def is_stream(output: str) -> bool:
    """Tell whether somebody may read the output while it is written: stdout, or a FIFO."""
    return output == "-" or is_special(output)


@contextmanager
def open_output(path: str, *, overwrite: bool) -> Generator[BinaryIO]:
    """Open stdout for `-`, or a file that appears whole or not at all, compressed by suffix."""
    if path == "-":
        widen(1)
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
def _compressed(raw: BinaryIO, path: str) -> Generator[BinaryIO]:
    if path.lower().endswith(".gz"):
        # neither name nor time in the header: same content, same bytes
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as file:
            yield cast("BinaryIO", file)
    elif path.lower().endswith(".zst"):
        import zstandard

        with zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as file:
            yield cast("BinaryIO", file)
    else:
        yield raw


def write_whole(file: BinaryIO, blob: Any) -> None:
    """Write all of it, or raise.

    Under PYTHONUNBUFFERED stdout is a raw file, which may write a part and say no more.
    """
    written = file.write(blob)
    while isinstance(file, io.RawIOBase) and written < len(blob):
        written += file.write(memoryview(blob)[written:])


@contextmanager
def line_writer(output: str, *, overwrite: bool, **_: Any) -> Generator[Write]:
    """Open an output for blobs of whole JSON lines, which carry no metadata."""
    watched = is_stream(output)
    with (
        open_output(output, overwrite=overwrite) as file,
        telling_failure(file) if watched else nullcontext(),
    ):
        seen = output == "-" and file.isatty()

        def write(blob: bytes) -> None:
            write_whole(file, printable_lines(blob) if seen else blob)
            if watched:  # who reads a pipe sees records as they come
                file.flush()

        yield write


@contextmanager
def arrow_writer(
    output: str, *, overwrite: bool, metadata: Mapping[str, str], **_: Any
) -> Generator[Write]:
    """Open an output for batches: Arrow IPC, begun with its first batch.

    By its name it is a file, of columns that any library reads, or a stream. That has its end mark
    only if the block ends well: readers refuse a stream without.
    """
    import pyarrow as pa

    from dialtools.streams.record_tables import misfits

    is_file = last_suffix(output) in ARROW_FILES and not is_special(output)
    begin = pa.ipc.new_file if is_file else pa.ipc.new_stream
    table: Any = None
    schema: pa.Schema | None = None
    with open_output(output, overwrite=overwrite) as file:

        def write(batch: pa.RecordBatch) -> None:
            nonlocal table, schema
            if is_file:
                schema = schema or _plain_schema(batch.schema, metadata)
                batch = _fitted(batch, schema)
            else:
                batch = batch.replace_schema_metadata(_merged(batch.schema, metadata))
            table = table or begin(_Bytes(file), batch.schema)
            with misfits():  # nested deeper than a table can be
                table.write_batch(batch)

        yield write
        if table is None:  # a table without rows, which readers can open
            table = begin(_Bytes(file), pa.schema([], dict(metadata)))
        table.close()


@contextmanager
def parquet_writer(
    output: str, *, overwrite: bool, metadata: Mapping[str, str], floats: bool
) -> Generator[Write]:
    """Open an output for batches: a Parquet file (zstd), begun with its first batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parquet: Any = None
    with open_output(output, overwrite=overwrite) as file, _sink(file) as sink:

        def write(batch: pa.RecordBatch) -> None:
            nonlocal parquet
            if parquet is None:
                schema = _plain_schema(batch.schema, metadata)
                settings = _float_settings(schema) if floats else {}
                parquet = pq.ParquetWriter(sink, schema, compression="zstd", **settings)
            parquet.write_batch(_fitted(batch, parquet.schema))

        yield write
        if parquet is None:
            parquet = pq.ParquetWriter(sink, pa.schema([], dict(metadata)))
        parquet.close()


def _float_settings(schema: pa.Schema) -> dict[str, Any]:
    """Return how columns of vectors are stored: bytes of like weight together, no dictionary."""
    import pyarrow as pa

    vectors = [f for f in schema if pa.types.is_fixed_size_list(f.type)]
    # pyarrow splits no bytes of half floats
    split = [f"{f.name}.list.element" for f in vectors if f.type.value_type != pa.float16()]
    words = [f.name for f in schema if f not in vectors and not pa.types.is_nested(f.type)]
    return {"use_byte_stream_split": split or False, "use_dictionary": words or False}


class _Bytes(io.RawIOBase):
    """A file that pyarrow may write to but not close, and whose broken pipe stays one.

    Attributes:
        deaf: what is written comes to nothing.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.written = 0
        self.deaf = False

    def tell(self) -> int:  # a pipe does not know; Parquet asks
        return self.written

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self.deaf:
            write_whole(self.file, data)
        self.written += len(data)
        return len(data)

    def flush(self) -> None:
        if not (self.closed or self.deaf or self.file.closed):
            self.file.flush()


@contextmanager
def _sink(file: BinaryIO) -> Generator[_Bytes]:
    """Yield a file for pyarrow, which is deaf once the block has failed.

    A writer of Parquet writes the end of its file when it is thrown away, too, to wherever that is.
    """
    sink = _Bytes(file)
    try:
        yield sink
    except BaseException:
        sink.deaf = True
        raise


def _fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of a schema, plain enough for Parquet and other libraries.

    Raises:
        DataError: if it has others.
    """
    import pyarrow as pa

    from dialtools.streams.record_tables import misfits
    from dialtools.streams.schemas import cast

    with misfits():
        columns = list(map(_plain_column, batch.columns))
        return cast(pa.RecordBatch.from_arrays(columns, names=batch.schema.names), schema)


def _plain_column(column: pa.Array) -> pa.Array:
    """Turn list views into lists, runs into rows, and into text what Parquet has no type for.

    pyarrow 26 casts views that begin at 0 into lists without their last offset, so no cast does it.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from dialtools.ranges import places_in
    from dialtools.streams.rows import values

    if pa.types.is_list_view(column.type):
        absent = np.asarray(column.is_null())
        sizes = np.where(absent, 0, np.asarray(column.sizes))  # of no list it may be any number
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        mask = pa.array(absent) if column.null_count else None
        places = places_in(np.asarray(column.offsets), sizes)  # `flatten` is slower
        inner = column.values.take(pa.array(places))
        return pa.ListArray.from_arrays(pa.array(offsets), inner, mask=mask)
    if pa.types.is_run_end_encoded(column.type):
        return pc.run_end_decode(column)
    if _is_foreign(column.type):
        return pa.array([None if v is None else str(v) for v in values(column)], pa.string())
    return column


def _is_foreign(kind: pa.DataType) -> bool:
    """Tell whether Parquet has no such type."""
    import pyarrow as pa

    return pa.types.is_union(kind) or kind == pa.month_day_nano_interval()


def _plain_schema(schema: pa.Schema, metadata: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    fields = [pa.field(f.name, _storable(f.type)) for f in schema]
    return pa.schema(fields, _merged(schema, metadata))


def _merged(schema: pa.Schema, metadata: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return the metadata of an output: its own in place of what its input had under that key.

    Arrow gives keys back as bytes; beside them the same key as text would be a second entry.
    """
    fresh = {key.encode(): value.encode() for key, value in metadata.items()}
    return {**(schema.metadata or {}), **fresh}


def _storable(kind: pa.DataType) -> pa.DataType:
    """Parquet knows neither list views nor dictionaries by batch; nor do Arrow files, or Polars."""
    import pyarrow as pa

    if pa.types.is_list_view(kind):
        return pa.list_(_storable(kind.value_type))
    if _is_foreign(kind):
        return pa.string()
    if pa.types.is_run_end_encoded(kind):
        return _storable(kind.value_type)
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def write_records(
    records: Iterable[dict[str, Any]],
    output: str,
    *,
    to: str | None = None,
    overwrite: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write dicts in the format of --to or of the file's suffix; holds one batch.

    Raises:
        DataError: if no table holds them, as which they are to be written.
    """
    kind = output_format(output, to)
    if FORMATS[kind].lines:
        payloads = map(json_line, records)
    else:
        from dialtools.streams.record_tables import record_batches

        payloads = record_batches(records, at_once=is_stream(output))
    with writer(output, format=kind, overwrite=overwrite, metadata=metadata) as write:
        for payload in payloads:
            write(payload)


def write_batches(
    batches: Iterable[pa.RecordBatch],
    output: str,
    *,
    format: str,
    overwrite: bool,
    metadata: Mapping[str, str],
) -> None:
    """Write Arrow batches in a format: as they are, or as JSON lines."""
    from dialtools.streams.rows import rows

    lines = FORMATS[format].lines
    with writer(output, format=format, overwrite=overwrite, metadata=metadata) as write:
        for batch in batches:
            write(b"".join(map(json_line, rows(batch))) if lines else batch)


def json_line(record: dict[str, Any]) -> bytes:
    """Return a record as a line of JSON."""
    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    return orjson.dumps(record, default=str, option=option)

"""Batches of columns to Arrow and Parquet, plain enough for what other libraries read of them."""

from __future__ import annotations

import io
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialtools.ranges import places_in
from dialtools.streams.atomic import is_special
from dialtools.streams.formats import ARROW_FILES, last_suffix
from dialtools.streams.record_tables import misfits
from dialtools.streams.rows import values
from dialtools.streams.schemas import cast
from dialtools.streams.sinks import Write, open_output, write_whole


@contextmanager
def arrow_writer(
    output: str, *, overwrite: bool, metadata: Mapping[str, str], **_: Any
) -> Generator[Write]:
    """Open an output for batches: Arrow IPC, begun with its first batch.

    By its name it is a file, of columns that any library reads, or a stream. That has its end mark
    only if the block ends well: readers refuse a stream without.
    """
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
    import pyarrow.parquet as pq  # which Arrow does without

    parquet: Any = None
    with open_output(output, overwrite=overwrite) as file, _sink(file) as sink:

        def write(batch: pa.RecordBatch) -> None:
            nonlocal parquet
            if parquet is None:
                schema = _plain_schema(batch.schema, metadata)
                settings = _float_settings(schema) if floats else {}
                parquet = pq.ParquetWriter(sink, schema, compression="zstd", **settings)
            with misfits():  # a time beyond what Parquet has room for
                parquet.write_batch(_fitted(batch, parquet.schema))

        yield write
        if parquet is None:
            parquet = pq.ParquetWriter(sink, pa.schema([], dict(metadata)))
        parquet.close()


def _float_settings(schema: pa.Schema) -> dict[str, Any]:
    """Return how columns of vectors are stored: bytes of like weight together, no dictionary."""
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
    with misfits():
        columns = list(map(_plain_column, batch.columns))
        return cast(pa.RecordBatch.from_arrays(columns, names=batch.schema.names), schema)


def _plain_column(column: pa.Array) -> pa.Array:
    """Turn list views into lists, runs into rows, and into text what Parquet has no type for.

    pyarrow 26 casts views that begin at 0 into lists without their last offset, so no cast does it.
    """
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
    return pa.types.is_union(kind) or kind == pa.month_day_nano_interval()


def _plain_schema(schema: pa.Schema, metadata: Mapping[str, str]) -> pa.Schema:
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
    if pa.types.is_list_view(kind):
        return pa.list_(_storable(kind.value_type))
    if _is_foreign(kind):
        return pa.string()
    if pa.types.is_run_end_encoded(kind):
        return _storable(kind.value_type)
    return kind.value_type if pa.types.is_dictionary(kind) else kind

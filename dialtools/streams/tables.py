"""Parquet and Arrow as batches of columns."""

from __future__ import annotations

import io
import os
import shutil
from base64 import b64decode
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from dialtools.errors import DataError
from dialtools.shown import first_line
from dialtools.streams import bounds, messages
from dialtools.streams.bytesio import display_name, open_file, open_input
from dialtools.streams.full import scratch_file
from dialtools.streams.pages import read_together
from dialtools.streams.schemas import cast
from dialtools.streams.sound import SLICE_BYTES, checked, sound_batches

BATCH_ROWS = 4096
SPOOL_BYTES = 1 << 20
ARROW_SCHEMA = b"ARROW:schema"
"""The key under which pyarrow keeps, in Parquet, the schema of what was written."""
FILE_MAGIC = b"ARROW1"
"""Of an Arrow file, which has its table of contents at its end; a stream has none."""


@checked
def parquet_batches(stream: io.BufferedReader, path: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a Parquet file; it is spooled to the disk unless it lies there already.

    Raises:
        DataError: if it is damaged.
    """
    with _damage("parquet", path), _whole(stream, path) as file:
        yield from _parquet_batches(file, path)


def _parquet_batches(source: BinaryIO, path: str) -> Iterator[pa.RecordBatch]:
    """Yield batches of as many rows as do not fill memory, by what the file says of its rows."""
    file = pq.ParquetFile(source)
    groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
    for group in groups:
        size = read_together(source, group)
        if size > bounds.most("page"):
            what = f"pages of {size >> 20:,} MB once unpacked, more than"
            raise bounds.beyond("page", what, where=display_name(path))
    longest = max((_row_bytes(group) for group in groups if group.num_rows), default=0)
    rows = SLICE_BYTES // max(1, int(longest))
    yield from file.iter_batches(batch_size=min(max(1, rows), BATCH_ROWS))


def _row_bytes(group: pq.RowGroupMetaData) -> float:
    """Return the bytes of a row: their mean, with the longest of which all could be copies."""
    columns = (group.column(i) for i in range(group.num_columns))
    return group.total_byte_size / group.num_rows + sum(map(_repeated_bytes, columns))


def _repeated_bytes(column: pq.ColumnChunkMetaData) -> float:
    """Return what a value may take that is stored once, and stands in every row.

    Values of up to 4 KB show among the statistics; none are longer than the dictionary, of which
    the size on the disk alone is told.
    """
    told = column.statistics
    if not column.has_dictionary_page or column.physical_type != "BYTE_ARRAY":
        return 0
    if told is not None and told.has_min_max:
        return 0
    packed = column.data_page_offset - column.dictionary_page_offset
    share = packed / max(1, column.total_compressed_size)
    return column.total_uncompressed_size * min(1, max(0, share))


@checked
def arrow_batches(stream: io.BufferedReader, path: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of Arrow streams, one after another, or of an Arrow file, which is spooled.

    Raises:
        DataError: if it is damaged, or a stream has no end mark.
    """
    with _damage("arrow", path):
        if not _is_file(stream):
            while stream.peek():
                yield from _ended_stream(stream, path)
            return
        with _whole(stream, path) as file:
            yield from _batches_of_file(file, path)


def _batches_of_file(file: BinaryIO, path: str) -> Iterator[pa.RecordBatch]:
    messages.check_file(file, path)
    reader = pa.ipc.open_file(file)
    yield from (reader.get_batch(i) for i in range(reader.num_record_batches))


def _ended_stream(stream: io.BufferedReader, path: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a stream whose end mark is there: pyarrow does without."""
    source = _Source(stream, path)
    try:
        yield from pa.ipc.open_stream(source)
    except (pa.ArrowException, OSError):
        if not source.exhausted:
            raise
    if source.exhausted:
        message = "the command that wrote this failed or was killed: the stream has no end"
        raise DataError(message, where=display_name(path))


class _Source(io.RawIOBase):
    """A stream whose messages are checked before they are handed on.

    Attributes:
        exhausted: whether more was asked of it than it had.
    """

    def __init__(self, stream: io.BufferedReader, path: str) -> None:
        self.stream, self.path = stream, path
        self.exhausted = False
        self._held = io.BytesIO()
        self._body = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None and size >= 0  # Arrow asks for the parts of a message, one by one
        block = self._held.read(size)
        if not block and not self._body and size:
            self._begin()
            block = self._held.read(size)
        rest = self.stream.read(min(size - len(block), self._body))
        self._body -= len(rest)
        self.exhausted = len(block) + len(rest) < size
        return block + rest

    def _begin(self) -> None:
        """Read the head of the next message, and its body if that has to be looked at."""
        prefix, metadata = messages.read_head(self.stream)
        message = messages.Message(metadata) if metadata else None
        self._body = message.body if message else 0
        body = b""
        if message and message.compressed:
            body = self.stream.read(self._body)
            message.check(lambda at, size: body[at : at + size], self.path)
            self._body = 0
        self._held = io.BytesIO(prefix + metadata + body)


def batches_as_written(path: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an Arrow file, or of a stream in one, empty ones too.

    Raises:
        DataError: if it is damaged, or has no end mark.
    """
    with _damage("arrow", path), open_input(path) as stream:
        if _is_file(stream):
            with _whole(stream, path) as file:
                yield from sound_batches(_batches_of_file(file, path), path, whole=True)
        else:
            yield from sound_batches(_ended_stream(stream, path), path, whole=True)


def row_groups(path: str) -> Iterator[pa.RecordBatch]:
    """Yield a batch for each row group of a Parquet file, empty ones too.

    Raises:
        DataError: if it is damaged.
    """
    with _damage("parquet", path), pq.ParquetFile(path) as file:
        metadata: dict[bytes, bytes] = file.metadata.metadata or {}
        written = metadata.get(ARROW_SCHEMA)
        schema = pa.ipc.read_schema(pa.py_buffer(b64decode(written))) if written else None
        groups = map(file.read_row_group, range(file.num_row_groups))
        batches = (_one_batch(table, schema) for table in groups)
        yield from sound_batches(batches, path, whole=True)


def _one_batch(table: pa.Table, schema: pa.Schema | None) -> pa.RecordBatch:
    """Return a table as a batch of the schema it was written by: Parquet has names of its own."""
    columns = [column.combine_chunks() for column in table.columns]
    batch = pa.RecordBatch.from_arrays(columns, schema=table.schema)
    return cast(batch, schema) if schema else batch


def parquet_metadata(path: str) -> dict[bytes, bytes]:
    """Return the key-value metadata of a Parquet file."""
    return pq.read_metadata(path).metadata or {}


def arrow_metadata(path: str) -> dict[bytes, bytes]:
    """Return the key-value metadata of an Arrow file, or of a stream in one."""
    with open_input(path) as stream:
        if not _is_file(stream):
            return pa.ipc.open_stream(stream).schema.metadata or {}
        with _whole(stream, path) as file:
            return pa.ipc.open_file(file).schema.metadata or {}


def _is_file(stream: io.BufferedReader) -> bool:
    return stream.peek().startswith(FILE_MAGIC)


@contextmanager
def _whole(stream: io.BufferedReader, path: str) -> Generator[BinaryIO]:
    """Yield what can be read from its end: the file itself, or a copy of what was packed, or piped.

    A FIFO is opened once.
    """
    if isinstance(stream.raw, io.FileIO) and Path(path).is_file():
        with open_file(path) as file:
            yield file
    else:
        with scratch_file() as spool:
            shutil.copyfileobj(stream, spool, SPOOL_BYTES)
            spool.seek(0)
            yield spool


@contextmanager
def _damage(kind: str, path: str) -> Generator[None]:
    """Turn what pyarrow says of a damaged file into an error that names it."""
    try:
        yield
    except MemoryError:  # pyarrow's own is one
        message = f"damaged {kind}: it asks for more memory than there is"
        raise DataError(message, where=display_name(path)) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError, messages.Damaged) as error:
        if "worker thread" in str(error):  # the machine has none left: no fault of the file
            raise
        told = f"damaged {kind}: {first_line(error)}"
        if isinstance(error, OSError) and error.errno:  # of the system, not of the file's content
            told = os.strerror(error.errno).lower()
        raise DataError(told, where=display_name(path)) from None

"""Records on their way through a command that adds a field: as they came, put aside, written.

A payload is JSON lines, whose other bytes stay as they are, or an Arrow batch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from dialtools.streams import exact
from dialtools.streams.chunks import Chunk
from dialtools.streams.full import scratch_file
from dialtools.streams.rows import rows as rows_of
from dialtools.streams.sinks import json_line, output_format

Payload = bytes | pa.RecordBatch


class Kept:
    """The records of a chunk that are kept, as they came: lines as they stand, rows of their batch.

    Of other formats they become JSON lines.
    """

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.columnar = chunk.columnar  # asked of every record, so looked up once
        self.json = chunk.json
        self.lines: list[bytes] = []
        self.kept: list[bytes] = []
        self.rows: list[int] = []

    def keep(self, number: int, record: dict[str, Any]) -> None:
        """Keep a record, the row or line of that number."""
        place = number - self.chunk.first
        if self.columnar:
            self.rows.append(place)
        elif self.json:
            self.lines = self.lines or self.chunk.data.split(b"\n")
            self.kept.append(self.lines[place].rstrip() + b"\n")
        else:
            self.kept.append(json_line(record))

    def payload(self) -> Payload:
        """Return the records that were kept."""
        if not self.columnar:
            return b"".join(self.kept)
        batch = self.chunk.data
        if len(self.rows) == batch.num_rows:
            return batch
        return _of_rows(batch, np.array(self.rows, np.int64))


def _of_rows(batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    """Return some rows of a batch: run by run, as Arrow takes no rows of views and run-ends."""
    starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
    lengths = np.diff(starts, append=len(rows))
    runs = zip(rows[starts].tolist(), lengths.tolist(), strict=True)
    parts = [batch.slice(first, length) for first, length in runs]
    return pa.concat_batches(parts) if parts else batch.slice(0, 0)


class PayloadSpool:
    """Holds payloads on disk between two passes, and gives them back in their order."""

    def __init__(self) -> None:
        self.file = scratch_file()
        self.parts: list[tuple[bool, int]] = []
        """Of each whether it is a batch, and its bytes on disk."""

    def close(self) -> None:
        """Let go of the disk."""
        self.file.close()

    def add(self, payload: Payload) -> None:
        """Put a payload aside."""
        columnar = not isinstance(payload, bytes)
        data: Any = _packed(payload) if columnar else payload
        self.file.write(data)
        self.parts.append((columnar, len(data)))

    @property
    def columnar(self) -> bool:
        """Whether all payloads are batches."""
        return bool(self.parts) and all(columnar for columnar, _ in self.parts)

    def __iter__(self) -> Iterator[Payload]:
        self.file.seek(0)
        for columnar, size in self.parts:
            data = self.file.read(size)
            yield pa.ipc.open_stream(data).read_next_batch() if columnar else data


def _packed(batch: pa.RecordBatch) -> pa.Buffer:
    """Return a batch as the bytes of a stream of its own."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def records_of(payload: Payload) -> Iterator[dict[str, Any]]:
    """Yield the records of a payload."""
    if isinstance(payload, bytes):
        return map(exact.loads, payload.split(b"\n")[:-1])
    return rows_of(payload)


def lines_with(payload: Payload, name: str, values: Sequence[bytes], which: Sequence[int]) -> bytes:
    """Return JSON lines with a field more, in place of one of that name.

    Args:
        values: distinct ones, as JSON.
        which: the value of each record.
    """
    if not isinstance(payload, bytes):
        payload = b"".join(map(json_line, records_of(payload)))
    key = orjson.dumps(name)
    ends = [b"," + key + b":" + value + b"}\n" for value in values]
    # not strict: after the last line end comes nothing, which is no line
    lines = zip(payload.split(b"\n"), which, strict=False)
    # a name may also be written with escapes of its letters
    if key not in payload and b"\\u" not in payload:
        return b"".join([line[:-1] + ends[i] for line, i in lines])
    return b"".join([_replaced(line, name, values[i], ends[i]) for line, i in lines])


def _replaced(line: bytes, name: str, value: bytes, end: bytes) -> bytes:
    record = exact.loads(line)
    if name not in record:
        return line[:-1] + end
    return json_line(record | {name: orjson.Fragment(value)})


def batch_with(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """Return a batch with a column more, in place of one of that name; the others stay."""
    if name in batch.schema.names:
        return batch.set_column(batch.schema.get_field_index(name), name, column)
    return batch.append_column(name, column)


def passed_on_format(output: str, to: str | None, *, columnar: bool) -> str:
    """Return the format of records that came as columns or not: a pipe gets columns of columns."""
    piped = columnar and output == "-" and not sys.stdout.isatty()
    return output_format(output, to or ("arrow" if piped else None))

"""JSON lines as a table, whose columns are known when the last line has come: spooled on disk."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO

import orjson
import pyarrow as pa

from dialtools.streams.full import scratch_file
from dialtools.streams.record_tables import BATCH_ROWS, misfits
from dialtools.streams.schemas import schema_of, united
from dialtools.streams.sinks import writer


@contextmanager
def table_of_lines(
    output: str, *, format: str, overwrite: bool, metadata: dict[str, str]
) -> Generator[Callable[[bytes], None]]:
    """Open an output; the yielded function takes blobs of JSON lines, which wait on the disk.

    Raises:
        DataError: if a field is of one kind here and of another there.
    """
    with (
        writer(output, format=format, overwrite=overwrite, metadata=metadata) as write,
        scratch_file() as spool,
    ):
        schema: pa.Schema | None = None

        def add(blob: bytes) -> None:
            nonlocal schema
            spool.write(blob)
            with misfits():
                fresh = schema_of([orjson.loads(line) for line in blob.splitlines()])
                schema = united([schema, fresh]) if schema else fresh

        yield add
        spool.seek(0)
        with misfits():
            for batch in _batches(spool, schema):
                write(batch)


def _batches(spool: BinaryIO, schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    while lines := list(islice(spool, BATCH_ROWS)):
        yield pa.RecordBatch.from_pylist([orjson.loads(line) for line in lines], schema=schema)

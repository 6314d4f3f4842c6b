"""Records as the batches of a table, in which none loses a field or a part of a number."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import orjson
import pyarrow as pa

from dialtools.errors import DataError
from dialtools.shown import first_line
from dialtools.streams.full import scratch_file
from dialtools.streams.schemas import NO_COLUMN, columns_of, fitted, schema_of, united
from dialtools.streams.sinks import writer

T = TypeVar("T")
BATCH_ROWS = 4096


def record_batches(records: Iterable[dict[str, Any]], *, at_once: bool) -> Iterator[pa.RecordBatch]:
    """Yield dicts in batches of one schema.

    Args:
        at_once: the first batch shows the schema, and is yielded then. Else all show it, and wait
            on the disk.

    Raises:
        DataError: if no table holds them.
    """
    batches = map(_batch, _parts(records))
    yield from (_fitted if at_once else _under_that_of_all)(batches)


def _parts(rows: Iterable[T]) -> Iterator[list[T]]:
    rows = iter(rows)
    while part := list(islice(rows, BATCH_ROWS)):
        yield part


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    with misfits():
        return pa.RecordBatch.from_pydict(columns_of(rows))


def _fitted(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield batches under a schema; without one, under that of the first."""
    for batch in batches:
        schema = schema or batch.schema
        with misfits():
            fit = fitted(batch, schema)
        yield fit


def _under_that_of_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema: pa.Schema | None = None
    count = 0
    with scratch_file() as spool:
        for batch in batches:
            with misfits():
                schema = _widened(schema, batch.schema)
            with pa.ipc.new_stream(spool, batch.schema) as stream:
                stream.write(batch)
            count += 1
        spool.seek(0)
        # each to its end mark, after which the next begins
        every = (batch for _ in range(count) for batch in pa.ipc.open_stream(spool))
        yield from _fitted(every, schema)


def _widened(known: pa.Schema | None, fresh: pa.Schema) -> pa.Schema:
    return united([known, fresh]) if known else fresh


@contextmanager
def table_of_lines(
    output: str, *, format: str, overwrite: bool, metadata: dict[str, str]
) -> Generator[Callable[[bytes], None]]:
    """Open an output; the yielded function takes blobs of JSON lines.

    They wait on the disk: the columns are known when the last line has come.

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
                schema = _widened(schema, fresh)

        yield add
        spool.seek(0)
        with misfits():
            for lines in _parts(spool):
                rows = [orjson.loads(line) for line in lines]
                write(pa.RecordBatch.from_pylist(rows, schema=schema))


@contextmanager
def misfits() -> Generator[None]:
    """Turn what pyarrow says of records that no table holds into an error with the way out.

    Raises:
        DataError: in place of that.
    """
    try:
        yield
    except NO_COLUMN as error:
        message = f"records do not fit one table: {first_line(error)}"
        raise DataError(message, hint="--to jsonl takes any record") from None

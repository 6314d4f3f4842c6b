"""Records as the batches of a table, in which none loses a field or a part of a number."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pyarrow as pa

from dialtools.errors import DataError
from dialtools.shown import first_line
from dialtools.streams.full import scratch_file
from dialtools.streams.schemas import NO_COLUMN, columns_of, fitted, united

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
    yield from (_under_the_first if at_once else _under_that_of_all)(batches)


def _parts(records: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    rows = iter(records)
    while part := list(islice(rows, BATCH_ROWS)):
        yield part


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    with misfits():
        return pa.RecordBatch.from_pydict(columns_of(rows))


def _under_the_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema: pa.Schema | None = None
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
                schema = united([schema, batch.schema]) if schema else batch.schema
            with pa.ipc.new_stream(spool, batch.schema) as stream:
                stream.write(batch)
            count += 1
        spool.seek(0)
        for _ in range(count):
            with pa.ipc.open_stream(spool) as stream:
                (batch,) = stream
            assert schema is not None
            with misfits():
                fit = fitted(batch, schema)
            yield fit


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

"""JSON lines as a Parquet or Arrow table, whose columns are known when the last line has come: spooled on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from dialtools.errors import DataError
from dialtools.streams.chunks import BATCH_ROWS
from dialtools.streams.sinks import writer

if TYPE_CHECKING:
    import pyarrow as pa


@contextmanager
def table_of_lines(
    output: str, *, format: str, overwrite: bool, metadata: dict[str, str]
) -> Iterator[Callable[[bytes], None]]:
    """Open an output; the yielded function takes blobs of JSON lines. Holds a batch; the lines are on disk.

    Raises:
        DataError: if a field is of one kind here and of another there.
    """
    with (
        writer(output, format=format, overwrite=overwrite, metadata=metadata) as write,
        tempfile.TemporaryFile() as spool,
    ):
        columns = _Columns()

        def add(blob: bytes) -> None:
            spool.write(blob)
            columns.add([orjson.loads(line) for line in blob.splitlines()])

        yield add
        spool.seek(0)
        with _told():
            for batch in _batches(spool, columns):
                write(batch)


@contextmanager
def _told() -> Iterator[None]:
    """Turn what pyarrow says of records that no table can hold into an error that names the way out."""
    import pyarrow as pa

    try:
        yield
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        OverflowError,
    ) as error:
        raise DataError(
            f"records do not fit one table: {str(error).splitlines()[0]}",
            hint="--to jsonl takes any record",
        ) from None


class _Columns:
    """The fields that records have had so far."""

    def __init__(self) -> None:
        self.schema: pa.Schema | None = None

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Learn the fields of records.

        Raises:
            DataError: if they do not go with those before.
        """
        import pyarrow as pa

        names = dict.fromkeys(name for row in rows for name in row)
        with _told():
            found = pa.schema(
                [(name, pa.array([row.get(name) for row in rows]).type) for name in names]
            )
            self.schema = (
                found
                if self.schema is None
                else pa.unify_schemas([self.schema, found], promote_options="permissive")
            )


def _batches(spool: BinaryIO, columns: _Columns) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while lines := list(islice(spool, BATCH_ROWS)):
        yield pa.RecordBatch.from_pylist(
            [orjson.loads(line) for line in lines], schema=columns.schema
        )

"""JSON lines as a table, whose columns are known when the last line has come: spooled on disk."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import orjson

from dialtools.streams.full import scratch_file
from dialtools.streams.record_tables import record_batches
from dialtools.streams.sinks import writer


@contextmanager
def table_of_lines(
    output: str, *, format: str, overwrite: bool, metadata: dict[str, str]
) -> Generator[Callable[[bytes], object]]:
    """Open an output; the yielded function takes blobs of JSON lines, which wait on the disk.

    Raises:
        DataError: if a field is of one kind here and of another there.
    """
    with (
        writer(output, format=format, overwrite=overwrite, metadata=metadata) as write,
        scratch_file() as spool,
    ):
        yield spool.write
        spool.seek(0)
        for batch in record_batches(map(orjson.loads, spool), at_once=False):
            write(batch)

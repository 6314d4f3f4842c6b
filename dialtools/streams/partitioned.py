"""What the folders of a partitioned table say: in `split=train/part-0.parquet` all rows have it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value of rows that have none."""


def with_folders(batches: Iterator[pa.RecordBatch], path: str) -> Iterator[pa.RecordBatch]:
    """Yield batches with a column of text for each folder NAME=VALUE that their file lies in.

    DuckDB, Spark and pandas read such files so. A column that the file itself has stays as it is.
    """
    told = _told(path)
    for batch in batches:
        for name, value in told.items():
            if name not in batch.schema.names:
                same = pa.repeat(pa.scalar(value, pa.string()), batch.num_rows)
                batch = batch.append_column(name, same)
        yield batch


def _told(path: str) -> dict[str, str | None]:
    """Return the names and values of the folders next to a file, the outermost first."""
    inner = takewhile(lambda folder: "=" in folder[1:], reversed(Path(path).parent.parts))
    folders = [os.fsencode(folder).decode("utf-8", "replace") for folder in inner]
    pairs = (folder.partition("=") for folder in reversed(folders))
    return {unquote(name): None if value == NULL else unquote(value) for name, _, value in pairs}

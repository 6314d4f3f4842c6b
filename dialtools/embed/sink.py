"""Batches of vectors to an embedding file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dialtools.streams.formats import EMBEDDING_FORMATS, FORMATS
from dialtools.streams.sinks import output_format, writer
from dialtools.streams.vectors import batch_matrix as matrix
from dialtools.streams.vectors import embedding_lines

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["embedding_format", "matrix", "sink"]


def embedding_format(output: str, to: str | None, *, dry: bool) -> str:
    default = "arrow" if output == "-" else "parquet"
    return output_format(output, to, formats=EMBEDDING_FORMATS, default=default, dry=dry)


@contextmanager
def sink(
    output: str, *, kind: str, overwrite: bool, metadata: dict[str, str]
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Open an embedding file; the yielded function takes batches."""
    with writer(output, format=kind, overwrite=overwrite, metadata=metadata, floats=True) as write:
        yield (lambda batch: write(embedding_lines(batch))) if FORMATS[kind].lines else write

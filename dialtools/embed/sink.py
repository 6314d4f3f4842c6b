"""Batches of vectors to an embedding file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from dialtools.embed.options import EMBEDDING_FORMATS
from dialtools.errors import ConfigError
from dialtools.streams.atomic import atomic_file
from dialtools.streams.sinks import writer

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 2048


def embedding_format(output: str, to: str | None, *, terminal: bool) -> str:
    """Return the format by --to, else by the file's suffix, else Parquet for a file and Arrow for stdout.

    Raises:
        ConfigError: if it is binary and stdout is a terminal, or .npy and stdout.
    """
    suffix = Path(output.removesuffix(".gz").removesuffix(".zst")).suffix.removeprefix(".")
    kind = to or (
        suffix if suffix in EMBEDDING_FORMATS else "arrow" if output == "-" else "parquet"
    )
    if output == "-" and kind == "npy":
        raise ConfigError("npy cannot be streamed to stdout", hint="name -o FILE")
    if output == "-" and kind != "jsonl" and terminal:
        raise ConfigError(
            f"will not write {kind} to a terminal", hint="name -o FILE, or --to jsonl"
        )
    return kind


@contextmanager
def sink(
    output: str, *, kind: str, overwrite: bool, metadata: dict[str, str]
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Open an embedding file; the yielded function takes batches."""
    if kind == "npy":
        with _npy(output, overwrite=overwrite) as write:
            yield write
        return
    with writer(output, format=kind, overwrite=overwrite, metadata=metadata, floats=True) as write:
        yield (lambda batch: write(_lines(batch))) if kind == "jsonl" else write


def _lines(batch: pa.RecordBatch) -> bytes:
    vectors = {n: matrix(batch, n) for n in batch.schema.names if n.endswith("embedding")}
    others = [n for n in batch.schema.names if n not in vectors]
    columns = {n: batch[n].to_pylist() for n in others}
    rows = []
    for i in range(batch.num_rows):
        row: dict[str, Any] = {n: columns[n][i] for n in others if columns[n][i] is not None}
        row |= {n: matrix_ND[i] for n, matrix_ND in vectors.items()}
        rows.append(
            orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)
        )
    return b"".join(rows)


def matrix(batch: pa.RecordBatch, name: str) -> np.ndarray:
    """Return the (N, D) float32 vectors of a batch's column."""
    column = batch[name]
    return (
        column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1).astype(np.float32)
    )


@contextmanager
def _npy(output: str, *, overwrite: bool) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """A matrix in FILE.npy, its columns in FILE.npy.columns.jsonl; rows are appended, the header comes last."""
    beside = f"{output}.columns.jsonl"
    shape, dtype = [0, 0], np.dtype(np.float32)
    with (
        atomic_file(output, overwrite=overwrite) as path,
        atomic_file(beside, overwrite=overwrite) as columns,
        path.open("wb") as file,
        columns.open("wb") as rows,
    ):
        file.write(_header(shape, dtype))

        def write(batch: pa.RecordBatch) -> None:
            names = [n for n in batch.schema.names if n.endswith("embedding")]
            if len(names) != 1:
                raise ConfigError(
                    "npy holds one matrix", hint="choose one --field, or --to parquet"
                )
            nonlocal dtype
            flat = batch[names[0]].flatten().to_numpy(zero_copy_only=False)
            dtype = flat.dtype
            file.write(np.ascontiguousarray(flat).tobytes())
            shape[:] = [shape[0] + batch.num_rows, len(flat) // max(1, batch.num_rows)]
            for row in batch.drop_columns(names).to_pylist():
                rows.write(orjson.dumps(row) + b"\n")

        yield write
        file.seek(0)
        file.write(_header(shape, dtype))


def _header(shape: list[int], dtype: np.dtype) -> bytes:
    """Return a .npy 1.0 header of 128 bytes, whatever the shape."""
    text = f"{{'descr': '{np.lib.format.dtype_to_descr(dtype)}', 'fortran_order': False, 'shape': ({shape[0]}, {shape[1]}), }}"
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n"

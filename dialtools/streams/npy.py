"""A matrix as NumPy keeps it, with the columns beside it."""

# pyarrow has no stubs, so that all it returns is unknown to the type checker.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import orjson
import pyarrow as pa

from dialtools.errors import ConfigError
from dialtools.streams.atomic import atomic_file
from dialtools.streams.rows import rows
from dialtools.streams.sinks import Write

BESIDE = ".columns.jsonl"
"""After the name of a matrix: the file of its ids, labels and texts, a line for each row."""
HEADER_BYTES = 128


class _Matrix:
    """A .npy file that grows by rows; its header, which tells the shape, is written last."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.rows = 0
        self.dimensions = 0
        self.dtype: np.dtype[Any] = np.dtype(np.float32)
        file.write(self.header())

    def add(self, vectors: np.ndarray, rows: int) -> None:
        """Append vectors, given flat."""
        self.dtype = vectors.dtype
        self.dimensions = len(vectors) // max(1, rows)
        self.rows += rows
        self.file.write(np.ascontiguousarray(vectors).tobytes())

    def header(self) -> bytes:
        """Return a .npy 1.0 header of one length, whatever the shape."""
        descr = np.lib.format.dtype_to_descr(self.dtype)
        shape = f"({self.rows}, {self.dimensions})"
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
        length = HEADER_BYTES - 10  # after the magic, the version and the length itself
        magic = b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little")
        return magic + text.ljust(length - 1).encode() + b"\n"

    def close(self) -> None:
        self.file.seek(0)
        self.file.write(self.header())


@contextmanager
def npy_writer(
    output: str, *, overwrite: bool, metadata: Mapping[str, str], floats: bool
) -> Generator[Write]:
    """Open FILE.npy for batches of one column of vectors; FILE.npy.columns.jsonl takes the rest."""
    del metadata, floats
    with (
        atomic_file(output, overwrite=overwrite) as path,
        atomic_file(f"{output}{BESIDE}", overwrite=overwrite) as columns,
        path.open("wb") as file,
        columns.open("wb") as lines,
    ):
        matrix = _Matrix(file)

        def write(batch: pa.RecordBatch) -> None:
            names = [name for name in batch.schema.names if name.endswith("embedding")]
            if len(names) != 1:
                hint = "choose one --field, or --to parquet"
                raise ConfigError("npy holds one matrix", hint=hint)
            flat = batch[names[0]].flatten().to_numpy(zero_copy_only=False)
            matrix.add(flat, batch.num_rows)
            for row in rows(batch.drop_columns(names), gaps=True):
                lines.write(orjson.dumps(row, default=str) + b"\n")

        yield write
        matrix.close()

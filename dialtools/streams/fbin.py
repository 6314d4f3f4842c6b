"""A matrix as usearch, DiskANN and the benchmarks of search keep it, with the columns beside it.

Rows and dimensions, four bytes each, then the numbers of all rows, float32; all little-endian.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, BinaryIO

import numpy as np

from dialtools.errors import DataError, OutputError
from dialtools.streams.npy import matrix_writer, read_numbers
from dialtools.streams.sinks import Write

NUMBERS = np.dtype("<f4")
SIZES = np.dtype("<i4")
MOST = np.iinfo(np.int32).max


def _header(rows: int, dimensions: int, _dtype: np.dtype[Any]) -> bytes:
    if rows > MOST:
        raise OutputError(f"{rows:,} rows, and fbin counts to {MOST:,}", hint="--to npy")
    return np.array([rows, dimensions], SIZES).tobytes()


def fbin_writer(output: str, *, overwrite: bool, **_: Any) -> AbstractContextManager[Write]:
    """Open FILE.fbin for batches of one column of vectors; its columns are as those of npy."""
    return matrix_writer(output, "fbin", overwrite=overwrite, header=_header, dtype=NUMBERS)


def read_fbin(stream: BinaryIO, path: str) -> np.ndarray:
    """Read the matrix of an open .fbin file, whole or not at all.

    Raises:
        DataError: if it is longer or shorter than its header says.
    """
    sizes = stream.read(2 * SIZES.itemsize).ljust(8, b"\xff")  # what is cut is below zero
    rows, dimensions = np.frombuffer(sizes, SIZES).tolist()
    if rows < 0 or dimensions < 0:
        raise DataError("no fbin: it does not begin with rows and dimensions", where=path)
    content = read_numbers(stream, rows * dimensions * NUMBERS.itemsize, path)
    return np.frombuffer(content, NUMBERS).reshape(rows, dimensions)

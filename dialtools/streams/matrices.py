"""A matrix in a file of its own, with the columns beside it.

.npy is NumPy's. .fbin, which usearch, DiskANN and the benchmarks of search read, has rows and
dimensions, four bytes each, then the numbers of all rows, float32; all little-endian.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa

from dialtools.errors import ConfigError, DataError, OutputError
from dialtools.shown import cut
from dialtools.streams.atomic import atomic_file
from dialtools.streams.formats import FORMATS
from dialtools.streams.rows import rows
from dialtools.streams.sinks import Write, json_line
from dialtools.streams.together import together

MAGIC = b"\x93NUMPY"
HEADER_BYTES = 128
LONGEST_HEADER = 10_000
"""Bytes; numpy reads no longer one either."""
LENGTH_BYTES = {1: 2, 2: 4, 3: 4}
"""Of the header's length, by version of the format."""
BLOCK_BYTES = 16 << 20
"""Read at once: memory grows with what is there, not with what a header says there is."""
FBIN_NUMBERS, FBIN_SIZES = np.dtype("<f4"), np.dtype("<i4")
MOST_ROWS = np.iinfo(np.int32).max

Header = Callable[[int, int, "np.dtype[Any]"], bytes]
"""From rows, dimensions and the type of the numbers to a header of one length."""


class _Matrix:
    """A file that grows by rows; its header, which tells the shape, is written last."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self.file, self.header = file, header
        self.rows = 0
        self.dimensions = 0
        self.dtype: np.dtype[Any] = np.dtype(np.float32)
        self.close()

    def add(self, vectors: np.ndarray, rows: int) -> None:
        """Append vectors, given flat."""
        if not rows:
            return
        self.dtype = vectors.dtype
        self.dimensions = len(vectors) // rows
        self.rows += rows
        self.file.write(np.ascontiguousarray(vectors).tobytes())

    def close(self) -> None:
        self.file.seek(0)
        self.file.write(self.header(self.rows, self.dimensions, self.dtype))


def _npy_header(rows: int, dimensions: int, dtype: np.dtype[Any]) -> bytes:
    """Return a .npy 1.0 header of one length, whatever the shape."""
    descr = np.lib.format.dtype_to_descr(dtype)
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {dimensions}), }}"
    length = HEADER_BYTES - 10  # after the magic, the version and the length itself
    magic = MAGIC + b"\x01\x00" + length.to_bytes(2, "little")
    return magic + text.ljust(length - 1).encode() + b"\n"


def _fbin_header(rows: int, dimensions: int, _dtype: np.dtype[Any]) -> bytes:
    if rows > MOST_ROWS:
        raise OutputError(f"{rows:,} rows, and fbin counts to {MOST_ROWS:,}", hint="--to npy")
    return np.array([rows, dimensions], FBIN_SIZES).tobytes()


@contextmanager
def _matrix_writer(
    output: str, *, kind: str, header: Header, dtype: Any = None, overwrite: bool, **_: Any
) -> Generator[Write]:
    """Open a file of a matrix for batches of one column of vectors, and one beside it for the rest.

    Columns without their matrix are replaced: a kill between the two names leaves them so.

    Args:
        dtype: of the numbers; that of the vectors, without.
    """
    alone, beside = not Path(output).exists(), f"{output}{FORMATS[kind].beside}"
    with (
        together(beside, output),
        atomic_file(output, overwrite=overwrite) as path,
        atomic_file(beside, overwrite=overwrite or alone) as columns,
        path.open("wb") as file,
        columns.open("wb") as lines,
    ):
        matrix = _Matrix(file, header)

        def write(batch: pa.RecordBatch) -> None:
            names = [name for name in batch.schema.names if name.endswith("embedding")]
            if len(names) != 1:
                hint = "choose one --field, or --to parquet"
                raise ConfigError(f"{kind} holds one matrix", hint=hint)
            flat = batch[names[0]].flatten().to_numpy()
            matrix.add(flat if dtype is None else flat.astype(dtype), batch.num_rows)
            for row in rows(batch.drop_columns(names), gaps=True):
                lines.write(json_line(row))

        yield write
        matrix.close()


npy_writer = partial(_matrix_writer, kind="npy", header=_npy_header)
fbin_writer = partial(_matrix_writer, kind="fbin", header=_fbin_header, dtype=FBIN_NUMBERS)


def read_matrix(stream: BinaryIO, path: str) -> np.ndarray:
    """Read the matrix of an open .npy file, whole or not at all.

    Floating point and whole numbers of either byte order, rows or columns first.

    Raises:
        DataError: if it is something else, or longer or shorter than its header says.
    """
    dtype, rows_first, shape = _read_header(stream, path)
    content = read_numbers(stream, shape[0] * shape[1] * dtype.itemsize, path)
    order = "C" if rows_first else "F"
    return np.frombuffer(content, dtype).reshape(shape, order=order)


def read_fbin(stream: BinaryIO, path: str) -> np.ndarray:
    """Read the matrix of an open .fbin file, whole or not at all.

    Raises:
        DataError: if it is longer or shorter than its header says.
    """
    sizes = stream.read(2 * FBIN_SIZES.itemsize).ljust(8, b"\xff")  # what is cut is below zero
    rows, dimensions = np.frombuffer(sizes, FBIN_SIZES).tolist()
    if rows < 0 or dimensions < 0:
        raise DataError("no fbin: it does not begin with rows and dimensions", where=path)
    content = read_numbers(stream, rows * dimensions * FBIN_NUMBERS.itemsize, path)
    return np.frombuffer(content, FBIN_NUMBERS).reshape(rows, dimensions)


def read_numbers(stream: BinaryIO, size: int, path: str) -> bytearray:
    """Read as many bytes as a header tells of, to the end.

    Raises:
        DataError: if there are more, or fewer.
    """
    content = bytearray()
    while block := stream.read(min(BLOCK_BYTES, size + 1 - len(content))):
        content += block
    if len(content) != size:
        there = "more follow" if len(content) > size else f"{len(content):,} are there"
        raise DataError(f"its header tells of {size:,} bytes, {there}", where=path)
    return content


def _read_header(stream: BinaryIO, path: str) -> tuple[np.dtype[Any], bool, tuple[int, int]]:
    """Return type, whether rows come first, and shape."""
    start = stream.read(len(MAGIC) + 2)
    version = start[len(MAGIC)] if start.startswith(MAGIC) and len(start) > len(MAGIC) else 0
    if version not in LENGTH_BYTES:
        raise DataError("not a NumPy matrix: it does not begin like one", where=path)
    length = int.from_bytes(stream.read(LENGTH_BYTES[version]), "little")
    if length > LONGEST_HEADER:
        raise DataError(f"not a NumPy matrix: a header of {length:,} bytes", where=path)
    try:
        facts = ast.literal_eval(stream.read(length).decode())
        dtype, rows_first = np.dtype(facts["descr"]), facts["fortran_order"] is False
        told: Any = facts["shape"]
    # what Python's parser raises of rubbish, NumPy of types, and both of what is missing
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
        raise DataError("not a NumPy matrix: its header is damaged", where=path) from None
    shape = cast("tuple[Any, ...]", told) if isinstance(told, tuple) else ()
    sizes = all(type(n) is int and n >= 0 for n in shape)
    if dtype.kind not in "fiu" or not sizes or len(shape) != 2:
        shown = cut(str(facts["shape"]))
        what = f"expected a matrix of numbers, got shape {shown} of {cut(str(dtype))}"
        raise DataError(what, where=path)
    return dtype, rows_first, (shape[0], shape[1])

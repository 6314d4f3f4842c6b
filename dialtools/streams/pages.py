"""How large the pages of a Parquet file are once unpacked, by what their headers say.

A page is unpacked whole, and the file's footer tells of whole columns only. A header is a struct in
Thrift's compact protocol, of which two fields are wanted and the others are passed over.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow.parquet as pq

HEADER_BYTES = (1 << 10, 1 << 24)
"""Read of a header at first, and if it has long statistics; Arrow reads no longer ones either."""
UNPACKED, PACKED = 2, 3
"""Fields of a header: bytes of the page without and with compression."""
LONGEST_NUMBER = 10
BOOLEANS = (1, 2)
INT32 = 5


class Header(NamedTuple):
    """What is told of a page, and how many bytes of the file tell it."""

    length: int
    unpacked: int
    packed: int


def read_together(file: Any, group: pq.RowGroupMetaData) -> int:
    """Return the unpacked bytes of the largest page of each column, which are in memory at once.

    Args:
        file: the Parquet file, open for reading; its position is changed.
    """
    columns = (group.column(i) for i in range(group.num_columns))
    return sum(max(_sizes(file, column), default=0) for column in columns)


def _sizes(file: Any, column: pq.ColumnChunkMetaData) -> Iterator[int]:
    """Yield the unpacked bytes of the pages of a column."""
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    end = at + column.total_compressed_size
    while at < end:
        header = _header(file, at)
        if header is None or header.packed < 0:  # for Arrow to tell, if it reads so far
            return
        yield header.unpacked
        at += header.length + header.packed


def _header(file: Any, at: int) -> Header | None:
    """Return the header at a place of the file, or None if there is none."""
    for size in HEADER_BYTES:
        file.seek(at)
        data = io.BytesIO(file.read(size))
        try:
            told = {number: value for number, value in _fields(data) if value is not None}
            return Header(data.tell(), told[UNPACKED], told[PACKED])
        except EOFError:
            continue
        except (KeyError, RecursionError, ValueError):
            break
    return None


def _fields(data: io.BytesIO) -> Iterator[tuple[int, int | None]]:
    """Yield the number of each field of a struct, and its value if that is an integer."""
    number = 0
    while head := _take(data, 1)[0]:
        step, kind = head >> 4, head & 15
        number = number + step if step else _signed(data)
        if kind == INT32:
            yield number, _signed(data)
        else:
            _skip(data, kind)
            yield number, None


def _take(data: io.BytesIO, size: int) -> bytes:
    taken = data.read(size)
    if len(taken) < size:
        raise EOFError
    return taken


def _unsigned(data: io.BytesIO) -> int:
    value = 0
    for place in range(LONGEST_NUMBER):
        byte = _take(data, 1)[0]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value
    raise ValueError("a number of more than 64 bits")


def _signed(data: io.BytesIO) -> int:
    value = _unsigned(data)
    return (value >> 1) ^ -(value & 1)


def _skip(data: io.BytesIO, kind: int) -> None:
    """Pass over a value that is no boolean, or is a field: those of booleans have no bytes."""
    if kind not in SKIP:
        raise ValueError(f"no kind of value: {kind}")
    SKIP[kind](data)


def _skip_list(data: io.BytesIO) -> None:
    head = _take(data, 1)[0]
    size = _unsigned(data) if head >> 4 == 15 else head >> 4
    for _ in range(size):
        _skip_item(data, head & 15)


def _skip_map(data: io.BytesIO) -> None:
    size = _unsigned(data)
    kinds = _take(data, 1)[0] if size else 0
    for _ in range(size):
        _skip_item(data, kinds >> 4)
        _skip_item(data, kinds & 15)


def _skip_item(data: io.BytesIO, kind: int) -> None:
    """Pass over a value that is in a list or a map, where booleans have a byte."""
    if kind in BOOLEANS:
        _take(data, 1)
    else:
        _skip(data, kind)


def _skip_struct(data: io.BytesIO) -> None:
    for _ in _fields(data):
        pass


SKIP: dict[int, Callable[[io.BytesIO], object]] = {
    1: lambda data: None,
    2: lambda data: None,
    3: lambda data: _take(data, 1),
    4: _unsigned,
    5: _unsigned,
    6: _unsigned,
    7: lambda data: _take(data, 8),
    8: lambda data: _take(data, _unsigned(data)),
    9: _skip_list,
    10: _skip_list,
    11: _skip_map,
    12: _skip_struct,
}
"""How a value is passed over, by Thrift's number of its kind."""

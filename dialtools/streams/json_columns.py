"""Lines of JSON straight to columns, where Arrow's parser reads them as the careful reader does.

It reads them several times as fast as Python makes objects of them. It is used only where it cannot
differ from `chunks.json_records`, by a byte or by an error: what is odd in any way is not read here
at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.json as pj

from dialtools.streams import bounds
from dialtools.streams.chunks import Chunk
from dialtools.streams.exact import digits_apart
from dialtools.streams.sound import is_utf8, one_text

INFINITE = re.compile(rb"Inf(?:inity)?\s*[,}\]]")
STRIDE = 64
"""Of as many bytes one is looked at: a HUGE number has four such neighbours."""
WORD = 8
"""Bytes that are counted at once."""
SCANNED = 1 << 20
"""Bytes of a line that are looked at together."""
HUGE = re.compile(rb"[0-9]{309}")
"""A whole number of so many digits is more than any float: no JSON to the careful reader."""


def columns_of_lines(
    chunk: Chunk, schema: pa.Schema, *, begins: Callable[[dict[str, Any]], bool]
) -> pa.RecordBatch | None:
    """Return columns of a chunk of JSON lines, null where a record lacks a field.

    None if a line is anything but an object, or a field has a value of another type.

    Args:
        schema: the columns; other fields are passed over.
        begins: tells of the first record whether the rest is worth reading.
    """
    if not chunk.json or chunk.lines:
        return None
    data: bytes = chunk.data
    ends = _ends_of_objects(data)
    if ends is None or not _begins(data, ends[0], begins) or not _parsed_alike(data, ends):
        return None
    try:
        read = pj.ReadOptions(use_threads=False, block_size=len(data) + 1)
        parse = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        table = pj.read_json(pa.BufferReader(data), read_options=read, parse_options=parse)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if table.num_rows != len(ends):  # two on a line, and none on another
        return None
    return table.combine_chunks().to_batches()[0]


def _ends_of_objects(data: bytes) -> np.ndarray | None:
    """Return where each line ends, if each begins and ends as an object does."""
    content = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    if not len(ends) or not data.startswith(b"{"):
        return None
    closed = (content[ends - 1] == ord("}")).all()
    return ends if closed and (content[ends[:-1] + 1] == ord("{")).all() else None


def _begins(data: bytes, end: int, begins: Callable[[dict[str, Any]], bool]) -> bool:
    if end > SCANNED:  # it is nearly all there is
        return True
    try:
        return begins(orjson.loads(data[:end]))
    except orjson.JSONDecodeError:
        return False


def _parsed_alike(data: bytes, ends: np.ndarray) -> bool:
    """Tell whether lines have nothing that Arrow's parser takes and the careful reader does not.

    That is bytes that are not UTF-8, numbers that are none or infinite, and deep nesting.
    """
    if not is_utf8(one_text(data)):  # in an eighth of the time that it takes to decode them
        return False
    content = np.frombuffer(data, np.uint8)
    if len(_places(content, b"NaN")):
        return False
    if any(INFINITE.match(data, place) for place in _places(content, b"Inf").tolist()):
        return False
    if _may_be_huge(data) and HUGE.search(data):
        return False
    starts, whole = np.append(0, ends[:-1]), memoryview(data)
    return not any(_is_deep(whole[starts[i] : ends[i]]) for i in _of_many_levels(content, starts))


def _may_be_huge(data: bytes) -> bool:
    """Tell whether a number may have 309 digits: of those, four in a row are looked at."""
    places = np.flatnonzero(digits_apart(np.frombuffer(data, np.uint8), STRIDE)) * STRIDE
    return any(data[place : place + 3 * STRIDE].isdigit() for place in places.tolist())


def _of_many_levels(content: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the lines that open more levels than are allowed, one after another or not.

    It counts by words of eight bytes: one in which two lines meet is the second's.
    """
    padded = np.zeros(-(-len(content) // WORD) * WORD, bool)
    np.equal(content | 0x20, ord("{"), out=padded[: len(content)])  # and "["
    of_word = np.bitwise_count(padded.view(np.uint64))
    opens = np.add.reduceat(of_word, starts // WORD, dtype=np.int32)
    return np.flatnonzero(opens + WORD > bounds.most("nesting"))


def _places(content: np.ndarray, word: bytes) -> np.ndarray:
    """Return where bytes have a word of three: `find` is slow where its letters are frequent."""
    a, b, c = word
    places = np.flatnonzero(content[:-2] == a)
    places = places[content[places + 1] == b]
    return places[content[places + 2] == c]


def _is_deep(line: memoryview) -> bool:
    """Tell whether a line of JSON nests too deep, by its brackets: read, it would be 8 times it."""
    depth, inside, end = 0, False, 0
    while end < len(line):
        start, end = end, end + SCANNED
        while bytes(line[end - 1 : end]) == b"\\":  # what it escapes is not cut off
            end += 1
        piece = bytes(line[start:end]).replace(rb"\\", b"").replace(rb"\"", b"")
        content = np.frombuffer(piece, np.uint8)
        within = (np.cumsum(content == ord('"'), dtype=np.uint8) & 1).view(bool) ^ inside
        opens, closes = ((content | 0x20 == ord(bracket)) & ~within for bracket in "{}")
        levels = depth + np.cumsum(opens.view(np.int8) - closes.view(np.int8), dtype=np.int32)
        if levels.max(initial=0) > bounds.most("nesting"):
            return True
        if len(levels):
            depth, inside = int(levels[-1]), bool(within[-1])
    return False

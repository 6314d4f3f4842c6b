"""A JSON array of records as JSON lines, cut without being parsed; holds a block, and a record.

What is within the brackets is cut at the commas between records; whether each is JSON is for the
reader of lines to say. Arrays may follow one another, as `jq . *.json` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dialtools.errors import DataError
from dialtools.streams import bounds
from dialtools.streams.policy import Where

QUOTE, BACKSLASH, COMMA, LINE_END, BLANK = b'"\\,\n '
CONTROL = 1
"""Stands for a line end within a string, which JSON does not allow: no reader takes it for text."""
ENDS = b"\n\r"
MARKS = np.zeros(256, bool)
MARKS[list(b'"[]{},' + ENDS)] = True
STEPS = np.zeros(256, np.int8)
STEPS[list(b"[{")], STEPS[list(b"]}")] = 1, -1
IS_END = np.zeros(256, bool)
IS_END[list(ENDS)] = True


def array_lines(read: Callable[[], bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the number of the first record of a blob, from 1, and the blob: a record a line.

    Raises:
        DataError: if the input is no array, or ends within one.
    """
    cutter, held, first = _Cutter(name), bytearray(), 1
    while block := read():
        begun = len(held)
        held += cutter.lines(block)
        ended = held.find(b"\n", begun)
        if (len(held) if ended < 0 else ended) > bounds.most("line"):
            raise bounds.beyond("line", "a record is longer than", where=Where(name, first))
        if end := held.rfind(b"\n") + 1:
            yield first, bytes(held[:end])
            first = cutter.number
            del held[:end]
    if cutter.depth:
        raise DataError("the array of records has no end", where=Where(name, first))


class _Cutter:
    """Writes line ends between the records of an array, block by block.

    Attributes:
        number: of the record that comes next.
        depth: of brackets that are open.
        inside: whether a string is.
    """

    def __init__(self, name: str) -> None:
        self.name, self.number = name, 1
        self.depth, self.inside, self._escaped = 0, False, False
        self._opened = self._filled = False

    def lines(self, block: bytes) -> bytes:
        """Return the next bytes with each record on a line, and blanks for the brackets."""
        data = np.frombuffer(block, np.uint8).copy()
        marks = np.flatnonzero(MARKS[data])
        what = data[marks]
        inside = self._in_strings(data, marks, what)
        steps = np.where(inside, 0, STEPS[what])
        depth = self.depth + np.cumsum(steps, dtype=np.int64)
        borders = ((depth - steps == 0) | (depth == 0)) & (steps != 0)
        borders |= (what == COMMA) & (depth == 1) & ~inside
        ended = self._ended(block, marks[borders].tolist())

        ends = IS_END[what]
        data[marks[ends]] = np.where(inside[ends], CONTROL, BLANK)
        data[marks[borders]] = np.where(ended, LINE_END, BLANK)
        self.depth = int(depth[-1]) if len(depth) else self.depth
        return data.tobytes()

    def _in_strings(self, data: np.ndarray, marks: np.ndarray, what: np.ndarray) -> np.ndarray:
        """Return which marks are within a string, its first quote among them."""
        quotes = (what == QUOTE) & ~self._escapes(data)[marks]
        inside = (np.cumsum(quotes) & 1) != self.inside
        self.inside = bool(inside[-1]) if len(inside) else self.inside
        return inside

    def _escapes(self, data: np.ndarray) -> np.ndarray:
        """Return which bytes have a backslash before them that counts: the odd ones of a run."""
        slashes = np.flatnonzero(data == BACKSLASH) + 1  # 0 is the last of the block before
        if self._escaped:
            slashes = np.append(0, slashes)
        begins = np.diff(slashes, prepend=-1) != 1
        counts = np.arange(len(slashes))
        within = counts - np.maximum.accumulate(np.where(begins, counts, 0))
        escaped = np.zeros(len(data) + 1, bool)
        escaped[slashes[within % 2 == 0]] = True
        self._escaped = bool(escaped[-1])
        return escaped[:-1]

    def _ended(self, block: bytes, borders: list[int]) -> list[bool]:
        """Return which borders end a record: neither the first one of an array, nor that of `[]`.

        Raises:
            DataError: for what stands outside of the brackets, and commas without a record before.
        """
        ended: list[bool] = []
        start = 0
        for at in borders:
            filled = self._filled or bool(block[start:at].strip())
            mark, start, self._filled = block[at : at + 1], at + 1, False
            opens, closes = mark in b"[{", mark in b"]}"
            if (opens and (filled or mark == b"{")) or (closes and not self.depth):
                self._refuse("what stands outside of the array")
            if not opens and not filled and not (closes and self._opened):
                self._refuse("a record is missing")
            self.number += filled
            ended.append(filled)
            self._opened = opens
            self.depth = 0 if closes else 1
        self._filled = self._filled or bool(block[start:].strip())
        if self._filled and not self.depth:
            self._refuse("what stands outside of the array")
        return ended

    def _refuse(self, message: str) -> None:
        raise DataError(f"not JSON: {message}", where=Where(self.name, self.number))

"""The blocks of a plain file that are one part's, read as if from the beginning of the file."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

from dialtools.streams.shards import Span

COUNT_BYTES = 1 << 20
"""Read at once to count lines."""


class Blocks:
    """Reads from the last border before a part to the last one in it.

    Attributes:
        held: what stands between that border and the first block that is read.
        first: the number of the line at that border.
    """

    def __init__(
        self,
        stream: io.BufferedReader,
        span: Span,
        *,
        block_bytes: int,
        border: Callable[[bytearray, int], int],
    ) -> None:
        """Go to the first block.

        Args:
            stream: a plain file, at the first byte of its content.
            border: returns where the last border ends that is in bytes, or 0.
        """
        self.stream, self.block_bytes = stream, block_bytes
        self.origin = stream.tell()  # after a byte-order mark
        blocks = -(-(os.fstat(stream.fileno()).st_size - self.origin) // block_bytes)
        self.mine = span.cut(blocks)
        self.to_end = self.mine.stop == blocks
        self.held = b""
        self.at = self.mine.start
        cut = self._border_before(border)
        self.first = 1 + self._lines_before(cut)
        self._seek(self.at * block_bytes)

    @property
    def wanted(self) -> bool:
        """Whether what ends in the block that was read last is the part's."""
        return self.mine.start < self.at <= self.mine.stop

    def read(self) -> bytes:
        """Return the next block; nothing after those of the part."""
        if self.at >= self.mine.stop and not self.to_end:
            self.at = self.mine.stop + 1  # what is left over goes on in the next part
            return b""
        block = self.stream.read(self.block_bytes)
        self.at += bool(block)
        return block

    def _border_before(self, border: Callable[[bytearray, int], int]) -> int:
        """Go back to a block that has a border; return where its last one ends."""
        while self.at:
            self._seek((self.at - 1) * self.block_bytes)
            block = self.stream.read(self.block_bytes)
            if end := border(bytearray(block), 0):
                self.held = block[end:]
                return (self.at - 1) * self.block_bytes + end
            self.at -= 1
        return 0

    def _lines_before(self, end: int) -> int:
        self._seek(0)
        sizes = (min(COUNT_BYTES, end - start) for start in range(0, end, COUNT_BYTES))
        return sum(self.stream.read(size).count(b"\n") for size in sizes)

    def _seek(self, place: int) -> None:
        self.stream.seek(self.origin + place)

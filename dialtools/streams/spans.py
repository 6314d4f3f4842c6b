"""What a part reads of the inputs, by units or by blocks; which part that is, `shards` tells."""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from dialtools.errors import DataError
from dialtools.streams.bytesio import own_name
from dialtools.streams.policy import Policy, Where
from dialtools.streams.provenance import input_bytes
from dialtools.streams.shards import Shard, Span
from dialtools.streams.tally import Tally

T = TypeVar("T")
COUNT_BYTES = 1 << 20
"""Read at once to count lines."""


def spans(paths: Sequence[str], shard: Shard | None) -> Iterator[tuple[str, Span | None]]:
    """Yield the inputs that a part reads, each with what is read of it; None is all.

    Args:
        shard: None is all inputs.

    Raises:
        DataError: if an input is not there, or can be read once only.
    """
    if shard is None:
        yield from ((path, None) for path in paths or ("-",))
        return
    sizes = [_size(path) for path in paths]
    mine, before = shard.cut(sum(sizes)), 0
    for path, size in zip(paths, sizes, strict=True):
        start, stop = max(mine.start - before, 0), min(mine.stop - before, size)
        before += size
        if start < stop:
            yield path, Span(start, stop, size) if stop - start < size else None


def _size(path: str) -> int:
    """Return the bytes of an input; of an empty one 1, so that some part reads it."""
    size = input_bytes(path)
    if size is None:
        there = Path(path).exists()
        what = "--shard reads files, not a pipe" if there else "no such file or directory"
        raise DataError(what, where=own_name(path))
    return max(1, size)


class Elsewhere(Policy):
    """Bad records are another part's until this one has begun.

    Attributes:
        begun: whether what is read now is this part's.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__("skip")
        self.policy = policy
        self.begun = False

    def reject(
        self, where: Where, message: str, raw: object = b"", hint: str | None = None
    ) -> None:
        if self.begun:
            self.policy.reject(where, message, raw, hint)


def within(
    span: Span | None,
    units: Callable[[Policy, Tally], Iterator[T]],
    policy: Policy,
    tally: Tally | None = None,
) -> Iterator[T]:
    """Yield the units of an input that a part has; they are counted first, so it is read twice.

    Args:
        span: None is all of it.
        units: reads the input, from its beginning.
        tally: gets what is counted of the part.
    """
    tally = Tally() if tally is None else tally
    if span is None:
        yield from units(policy, tally)
        return
    mine = span.cut(sum(1 for _ in units(Elsewhere(policy), Tally())))
    elsewhere = Elsewhere(policy)
    every = units(elsewhere, tally)
    deque(islice(every, mine.start), maxlen=0)
    if mine.start:
        tally.forget()
    elsewhere.begun = True
    yield from every if span.is_last else islice(every, len(mine))


class Blocks:
    """The blocks of a plain file that are one part's, read as if from the beginning of the file.

    It reads from the last border before the part to the last one in it.

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

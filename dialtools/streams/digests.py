"""What was read, by content: of stdin, which cannot be read again, and of records."""

from __future__ import annotations

import io
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, BinaryIO, TypeVar

import orjson

from dialtools.streams.bytesio import stdin

Place = TypeVar("Place")
BLOCK = 1 << 20
AT_ONCE = 1024
"""Records that are hashed together."""


class StreamDigest(io.RawIOBase):
    """A stream that is hashed as it is read.

    Attributes:
        bytes: how many were read.
        ended: whether the stream was read to its end.
    """

    def __init__(self, source: BinaryIO) -> None:
        # a file of bytes that is buffered can hand on what it has, before a block is full
        self.read1 = getattr(source, "read1", source.read)
        self.bytes = 0
        self.ended = False
        self._total = sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        block: bytes = self.read1(len(target))
        target[: len(block)] = block
        self._total.update(block)
        self.bytes += len(block)
        self.ended = not block
        return len(block)

    def content(self) -> dict[str, Any]:
        """Return what tells this input from another: bytes, digest, and whether more may follow."""
        facts = {"bytes": self.bytes, "sha256": self._total.hexdigest()}
        return facts if self.ended else {**facts, "ended": False}


@contextmanager
def hashed_stdin() -> Generator[StreamDigest]:
    """Hash what readers read of stdin in this block; they need not know."""
    watched = StreamDigest(stdin())
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BufferedReader(watched, BLOCK))
    try:
        yield watched
    finally:
        sys.stdin = before


def stdin_is(content: Mapping[str, Any]) -> bool:
    """Tell whether stdin is the stream of this content (`StreamDigest.content`); reads as much.

    A stream without a byte is no answer but none: what was read before is not given again.
    """
    stream = stdin()
    total = sha256()
    left = int(content["bytes"])
    first = stream.peek() if isinstance(stream, io.BufferedReader) else b"?"
    if not first:
        return True
    while left and (block := stream.read(min(left, BLOCK))):
        total.update(block)
        left -= len(block)
    if left or total.hexdigest() != content["sha256"]:
        return False
    return content.get("ended") is False or not stream.read(1)


class RecordDigest:
    """A running hash over records, in their order."""

    def __init__(self) -> None:
        self._total = sha256()
        self._passed: list[dict[str, Any]] = []  # a call for many takes half as long

    def __call__(
        self, records: Iterable[tuple[Place, dict[str, Any]]]
    ) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Yield the records, each hashed as it passes."""
        for place, record in records:
            self._passed.append(record)
            if len(self._passed) == AT_ONCE:
                self._take_in()
            yield place, record

    def so_far(self) -> str:
        """Return the SHA-256 of all records that have passed, in hex."""
        self._take_in()
        return self._total.hexdigest()

    def _take_in(self) -> None:
        lines = orjson.dumps(self._passed, default=str)
        if self._passed:  # each with a comma behind it, wherever the list ends
            self._total.update(b"%b," % lines[1:-1])
        self._passed.clear()

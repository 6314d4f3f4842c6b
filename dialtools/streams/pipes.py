"""Pipes: wide ones, and what came through one so far."""

from __future__ import annotations

import fcntl
import io
import select
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TypeVar

WIDE = 1 << 20
"""Bytes that Linux lets anybody's pipe hold; sixteen times what one has at first."""
PATIENCE_SECONDS = 0.02
"""Nobody at a prompt notices them, and a command before us writes a chunk in less."""

SOON_SECONDS = 0.3
"""What somebody who waits for an answer takes for at once."""
T = TypeVar("T")


def widen(descriptor: int) -> None:
    """Let a pipe hold more, so that neither of its ends waits for the other as often.

    What is no pipe stays as it is, as does a pipe where the system has no more room for it.
    """
    with suppress(OSError, AttributeError):  # Linux alone names this
        if fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ) < WIDE:
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, WIDE)


def arrived(stream: io.BufferedReader, size: int) -> bytes:
    """Return what a stream has now and what follows within `PATIENCE_SECONDS`.

    It waits for a first byte however long it takes.

    Returns:
        `size` bytes at most; none at the end of the stream.
    """
    block = stream.read1(size)
    if not block or not isinstance(stream.raw, io.FileIO):  # a decompressor has no more to ask
        return block
    blocks, missing = [block], size - len(block)
    until = time.monotonic() + PATIENCE_SECONDS
    while missing and _has_more(stream, until - time.monotonic()):
        block = stream.read1(missing)
        if not block:
            break
        blocks.append(block)
        missing -= len(block)
    return b"".join(blocks)


def stdin_has_more(seconds: float = PATIENCE_SECONDS) -> bool:
    """Tell whether stdin has bytes, or its end, within so long."""
    return _has_more(0, seconds)


def come_soon(items: Iterator[T | None], most: int) -> list[T]:
    """Return the next items that come within `SOON_SECONDS`, or while stdin pours.

    It waits for a first one however long it takes.

    Args:
        items: with None where stdin has no more at once.
        most: one or more.
    """
    found: list[T] = []
    until = 0.0
    for item in items:
        if item is not None:
            until = until or time.monotonic() + SOON_SECONDS
            found.append(item)
            if len(found) == most:
                break
        elif found and not stdin_has_more(max(PATIENCE_SECONDS, until - time.monotonic())):
            break
    return found


def _has_more(stream: io.BufferedReader | int, seconds: float) -> bool:
    """Wait for bytes, or the end; tell whether there is either. At a terminal nobody waits."""
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))

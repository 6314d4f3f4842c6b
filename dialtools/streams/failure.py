"""How whoever reads from a pipe notices that the command which writes to it has failed.

A pipe tells its reader that the writer is gone, not how it went. So an Arrow stream that fails has
no end mark (`streams.tables` refuses it), and JSON lines end in one more record:

    {"dialtools_failed": "chats.jsonl:10482: turns[3].text: expected a string, got null"}

A writer of JSON lines that is killed by kill -9 leaves none, and a filter between may drop it or
its field (`jq select(...)`, grep); only `set -o pipefail` tells of these.
"""

from __future__ import annotations

import re
import select
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import orjson

from dialtools.errors import DataError, DialError

KEY = "dialtools_failed"
# blank to JSON, and the first byte of no other line of ours: found faster than any letter
MARK = b'\t{"%s":' % KEY.encode()
REWRITTEN = re.compile(rb'\s*\{\s*"%s"' % KEY.encode())
"""The record where a filter between, jq say, has written it anew: the last line of all."""
ATOMIC_BYTES = 4096
"""What a pipe takes in one piece, whoever else writes to it (PIPE_BUF of Linux)."""


@contextmanager
def telling_failure(file: BinaryIO) -> Generator[None]:
    """Write the failure record to a stream of JSON lines if the block fails."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError, ValueError):  # the reader may be gone, too, and the file closed
            _tell(file, error)
        raise


def _tell(file: BinaryIO, error: BaseException) -> None:
    interrupted = not isinstance(error, Exception)
    if file.isatty() or isinstance(error, (BrokenPipeError, GeneratorExit)):
        return
    if interrupted:  # what waits in the buffer may begin in the middle of a line
        record = b"\n" + failure_record(error)
        _, ready, _ = select.select([], [file], [], 0)
        if ready:  # there is room for an atomic write: it does not wait for the reader
            raw = getattr(file, "raw", file)
            raw.write(record)
    else:
        file.write(failure_record(error))
        file.flush()


def failure_record(error: BaseException) -> bytes:
    """Return the line that tells of an error, in at most `ATOMIC_BYTES`."""
    meant = isinstance(error, (DialError, OSError, KeyboardInterrupt))
    text = str(error) if meant else f"{type(error).__name__}: {error}"
    room = ATOMIC_BYTES // 6 - len(MARK)  # JSON makes at most six bytes of one
    message = text.encode("utf-8", "backslashreplace")[:room].decode("utf-8", "ignore")
    return MARK + orjson.dumps(message) + b"}\n"


def refuse_failed(lines: bytes, name: str) -> None:
    """Look for the failure record in JSON lines; streams may have been joined behind it.

    Raises:
        DataError: if it is there, whatever --on-error says.
    """
    if b"\t" in lines and MARK in lines:
        record = lines[lines.index(MARK) :].split(b"\n", 1)[0]
    else:
        record = lines[lines.rfind(b"\n", 0, -1) + 1 :]
        if not REWRITTEN.match(record):
            return
    try:
        message = orjson.loads(record)[KEY]
    except orjson.JSONDecodeError:
        message = "it does not tell how"
    raise DataError(f"the command that wrote this failed: {message}", where=name)

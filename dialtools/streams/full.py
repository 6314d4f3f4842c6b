"""A disk that is full or fails is told with the name of what was being written, or kept."""

from __future__ import annotations

import errno
import io
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from dialtools.errors import DialError, OutputError
from dialtools.streams.scraps import lasting

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ESTALE)
"""No space left, none of the quota, a file larger than may be; a disk or a server that fails."""
ELSEWHERE = "temporary files; TMPDIR=FOLDER puts them on another disk"
BUFFER_BYTES = 1 << 20


@contextmanager
def naming(path: str | Path) -> Generator[None]:
    """Turn the error of a full disk into one that names what was written.

    Raises:
        OutputError: in place of that error, whichever library it came through; with the name that
        the user gave, not that of a file that is half written.
    """
    try:
        yield
    except Exception as error:
        reason = _full(error)
        if not reason:
            raise
        hint = ELSEWHERE if str(path) == tempfile.gettempdir() else None
        raise OutputError(reason, where=lasting(Path(path)), hint=hint) from error


def _full(error: Exception) -> str:
    """Return what the system says of a full disk, if that is what an error is."""
    if isinstance(error, DialError):
        return ""
    number = getattr(error, "errno", None)
    # torch and safetensors have errors of their own, which quote it
    said = (os.strerror(n) for n in FULL if n == number or os.strerror(n) in str(error))
    return next(said, "")


class _Scratch(io.FileIO):
    def write(self, data: Any) -> int:
        with naming(tempfile.gettempdir()):
            return super().write(data)

    def readinto(self, buffer: Any) -> Any:
        with naming(tempfile.gettempdir()):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with naming(tempfile.gettempdir()):
            return super().readall()


def scratch_file() -> BinaryIO:
    """Return a file in $TMPDIR without a name, which goes with its process however that ends."""
    with tempfile.TemporaryFile() as file:
        raw = _Scratch(os.dup(file.fileno()), "r+b")
    return cast("BinaryIO", io.BufferedRandom(raw, BUFFER_BYTES))

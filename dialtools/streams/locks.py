"""One run at a time in one place."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from dialtools.errors import OutputError
from dialtools.streams.full import naming

WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
"""What file systems say that know no locks; runs go unguarded there, rather than not at all."""

WAIT_SECONDS = 0.2


class Lock:
    """An exclusive lock on a file, held until `release`, or until the process ends however it ends.

    The lock is that of the open file (flock): the kernel frees it after a kill -9 too, so no stale
    lock is ever to be cleared by hand. The file holds the process id of its holder, for messages.
    """

    def __init__(self, path: Path, *, wait: Callable[[str], None] | None = None) -> None:
        """Take the lock, or say who has it.

        Args:
            wait: wait for the holder, once this was told of it; without it nobody waits.

        Raises:
            OutputError: if another process holds it. FileNotFoundError: if its folder is gone.
        """
        self.path = path
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._take(wait)
            os.ftruncate(self.descriptor, 0)
            os.pwrite(self.descriptor, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(self.descriptor)
            raise

    def _take(self, wait: Callable[[str], None] | None) -> None:
        if self._is_free():
            return
        holder = os.pread(self.descriptor, 32, 0).decode("ascii", "replace").strip()
        message = f"another run is at work here{f' (process {holder})' if holder else ''}"
        if wait is None:
            raise OutputError(message, where=self.path.parent)
        wait(message)
        # asked again and again: a Ctrl-C just before a call that blocks would wait with it
        while not self._is_free():
            time.sleep(WAIT_SECONDS)

    def _is_free(self) -> bool:
        """Take the lock if nobody has it, and tell whether it could be taken."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                raise
        return True

    def release(self) -> None:
        os.close(self.descriptor)


@contextmanager
def locked(folder: str | Path, *, tell: Callable[[str], None] = lambda _: None) -> Generator[None]:
    """Be the only run in a folder, once any other is done there.

    The lock is the file `FOLDER.lock`, which stays; it is beside the folder, so that this may be
    made, emptied and replaced under the lock.

    Args:
        tell: is given one line before a wait begins.

    Raises:
        OSError: if nothing can be written there.
    """
    folder = Path(folder)
    path = folder.with_name(f"{folder.name}.lock")

    def waiting(message: str) -> None:
        tell(f"{folder}: {message}; waiting for it")

    with naming(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = Lock(path, wait=waiting)
    try:
        yield
    finally:
        lock.release()

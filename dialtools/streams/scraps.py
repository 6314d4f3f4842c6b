"""What killed runs leave, and later runs clear: half-written files, and folders in $TMPDIR.

Each carries the number of its process in its name, and its process holds its lock. It is a scrap
when no such process runs here and nobody holds the lock: who shares the disk from another container
or machine cannot be seen from here.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
import struct
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from dialtools.errors import OutputError

WORKING = ".partial"
"""Ends the name of the folder in which an output is made."""
UNFINISHED = rf"\.(.+)\.\d+\.(?:tmp|old)|(.+){re.escape(WORKING)}"
TEMPORARY = r"dialtools-(\d+)-[0-9a-f]{16}"
FAR = 1 << 62
"""The byte of a file that is locked, and never written: on SMB nobody may write what is locked,
not even who opens the file once more."""

_own: dict[Path, int] = {}
"""Half-written files and folders, and the process that writes them: a fork is another."""


@contextmanager
def removed_at_the_end(path: Path) -> Generator[Path]:
    """Remove a file or folder when the block ends, or when `remove_own` is called before."""
    _own[path] = os.getpid()
    try:
        yield path
    finally:
        _remove(path)
        _own.pop(path, None)


@contextmanager
def half_written(path: Path, make: Callable[[Path], object] = Path.touch) -> Generator[Path]:
    """Make a file or folder, locked until the block ends; then it goes, unless it was renamed.

    Raises:
        OutputError: if it is there: a process of this number is at work elsewhere.
    """
    if path.exists():
        raise OutputError("another run is writing it", where=path)
    with removed_at_the_end(path):  # said before it is there: a signal may come between the two
        make(path)
        lock = _opened(path)
        try:
            _take(lock)
            yield path
        finally:
            os.close(lock)


def remove_own() -> None:
    """Remove what this process has half-written: for one that ends where blocks do not, or not all.

    A signal may come between a block's first lines, or break off its last ones.
    """
    for path, process in list(_own.items()):
        if process == os.getpid():
            _remove(path)


def lasting(path: Path) -> Path:
    """Return the output in whose unfinished files a path is; of a temporary folder, where it is."""
    for folder in (path, *path.parents):
        if found := re.fullmatch(UNFINISHED, folder.name):
            return lasting(folder.with_name(found[1] or found[2]))
        if re.fullmatch(TEMPORARY, folder.name):
            return folder.parent
    return path


def known_as(path: Path) -> Path:
    """Return what the user calls a file: of what this process has half-written, the output."""
    own = rf"\..+\.{os.getpid()}\.(?:tmp|old)"
    half = any(re.fullmatch(own, folder.name) for folder in (path, *path.parents))
    return lasting(path) if half else path


def clear_scraps(final: Path) -> None:
    """Remove what killed runs left beside an output: `.NAME.PROCESS.tmp` and `.old`."""
    _clear(final.absolute().parent, rf"\.{re.escape(final.name)}\.(\d+)\.(?:tmp|old)")


def give_back(final: Path) -> None:
    """Give a folder its name back: a run was killed between taking it and naming another so."""
    if final.exists():
        return
    for entry in os.scandir(final.absolute().parent):
        found = re.fullmatch(rf"\.{re.escape(final.name)}\.(\d+)\.old", entry.name)
        if not found or not entry.is_dir(follow_symlinks=False) or _is_another(int(found[1])):
            continue
        if any(os.scandir(entry)):
            Path(entry.path).rename(final)
            return


@contextmanager
def temporary_folder() -> Generator[Path]:
    """Yield a folder in $TMPDIR that goes when the block ends; those of killed runs go now."""
    parent = Path(tempfile.gettempdir())
    _clear(parent, TEMPORARY)
    folder = parent / f"dialtools-{os.getpid()}-{secrets.token_hex(8)}"
    with half_written(folder, partial(Path.mkdir, mode=0o700)):
        yield folder


def remove_folder(folder: Path) -> None:
    """Remove a folder, if it is there, also when a signal comes meanwhile."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:  # what the signal broke off; the next one ends the process
        shutil.rmtree(folder, ignore_errors=True)


def _remove(path: Path) -> None:
    if path.is_dir():
        remove_folder(path)
    else:
        path.unlink(missing_ok=True)


def _clear(parent: Path, pattern: str) -> None:
    """Remove files and folders of a name whose process, its first group, runs nowhere any more."""
    for entry in os.scandir(parent):
        found = re.fullmatch(pattern, entry.name)
        if not found or _is_another(int(found[1])):
            continue
        path = Path(entry.path)
        if entry.is_symlink():
            path.unlink(missing_ok=True)
        elif not _is_locked(path):
            _remove(path)


def _is_another(process: int) -> bool:
    """Tell whether a process runs, and is not this one."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return process != os.getpid()


def _opened(path: Path) -> int:
    """Open a file or folder to lock it; NFS locks only what is open for writing."""
    try:
        return os.open(path, os.O_RDWR)
    except (IsADirectoryError, PermissionError):
        return os.open(path, os.O_RDONLY)


def _is_locked(path: Path) -> bool:
    try:
        lock = _opened(path)
    except OSError:  # gone since, or somebody else's
        return True
    try:
        return not _take(lock)
    finally:
        os.close(lock)


def _take(lock: int) -> bool:
    """Lock an open file or folder if nobody has, and tell whether nobody had."""
    try:
        if stat.S_ISDIR(os.fstat(lock).st_mode) or not hasattr(fcntl, "F_OFD_SETLK"):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            byte = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, FAR, 1, 0)  # a struct flock
            fcntl.fcntl(lock, fcntl.F_OFD_SETLK, byte)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True

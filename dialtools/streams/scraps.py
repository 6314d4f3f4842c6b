"""What killed runs leave, and later runs clear: half-written files, and folders in $TMPDIR.

Each carries the number of its process in its name. It is a scrap when no such process runs here.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

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


def remove_own() -> None:
    """Remove what this process has half-written: for one that ends where blocks do not, or not all.

    A signal may come between a block's first lines, or break off its last ones.
    """
    for path, process in list(_own.items()):
        if process == os.getpid():
            _remove(path)


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
    """Yield a folder in $TMPDIR that goes when the block ends; those of killed runs go now.

    It is locked, too, so that a run in another container, whose processes cannot be seen from here,
    is known to be at work.
    """
    parent = Path(tempfile.gettempdir())
    _clear(parent, r"dialtools-(\d+)-[0-9a-f]{16}")
    folder = parent / f"dialtools-{os.getpid()}-{secrets.token_hex(8)}"
    with removed_at_the_end(folder):  # said before it is there: a signal may come between the two
        folder.mkdir(mode=0o700)
        lock = os.open(folder, os.O_RDONLY)
        try:
            _take(lock)
            yield folder
        finally:
            os.close(lock)


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
    """Remove the files and folders of a name whose process, its first group, runs no more."""
    for entry in os.scandir(parent):
        found = re.fullmatch(pattern, entry.name)
        if not found or _is_another(int(found[1])):
            continue
        path = Path(entry.path)
        if not entry.is_dir(follow_symlinks=False):
            path.unlink(missing_ok=True)
        elif not _is_locked(path):
            shutil.rmtree(path, ignore_errors=True)


def _is_another(process: int) -> bool:
    """Tell whether a process runs, and is not this one."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return process != os.getpid()


def _is_locked(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY)
    except OSError:  # gone since, or somebody else's
        return True
    try:
        return not _take(lock)
    finally:
        os.close(lock)


def _take(lock: int) -> bool:
    """Lock an open folder if nobody has, and tell whether nobody had."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True

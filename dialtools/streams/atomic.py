"""Nothing half-written under a final name: write aside, sync, rename."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from dialtools.errors import OutputError
from dialtools.streams.full import naming
from dialtools.streams.scraps import clear_scraps, give_back, half_written, remove_folder
from dialtools.streams.together import Written, make_ready, together

PRIVATE = 0o600
"""The mode of what safetensors writes, whatever the umask."""


def refuse_existing(path: str | Path, *, overwrite: bool) -> None:
    """Raise OutputError if the output exists and may not be replaced.

    A device or a pipe is written to, never replaced.
    """
    if Path(path).exists() and not is_special(path) and not overwrite:
        raise OutputError(
            "exists already", where=path, hint="--overwrite replaces it, or name another"
        )


def is_special(path: str | Path) -> bool:
    """Tell whether a path is neither a file nor a directory, but there."""
    path = Path(path)
    return path.exists() and not path.is_file() and not path.is_dir()


def check_kind(path: str | Path, *, directory: bool) -> None:
    """Raise OutputError if a file is to stand where a directory is, or a directory elsewhere.

    Said before any work, and whatever the flags: a directory never replaces a file or a device.
    """
    path = Path(path)
    if path.is_dir() and not directory:
        raise OutputError("is a directory", where=path)
    if directory and path.exists() and not path.is_dir():
        raise OutputError(
            "is no directory", where=path, hint="a directory is written: another name"
        )


_witnesses: dict[Path, tuple[Path, Callable[[Path], None]]] = {}


@contextmanager
def witnessed(path: Path, note: Path, witness: Callable[[Path], None]) -> Generator[None]:
    """Hand over what an `atomic_file` of this path has written, before it gets its name.

    Args:
        note: the file that the witness writes; it gets its name just before the other does.
    """
    _witnesses[path] = note, witness
    try:
        yield
    finally:
        del _witnesses[path]


@contextmanager
def atomic_file(path: str | Path, *, overwrite: bool) -> Generator[Path]:
    """Yield a temporary path in the same directory that becomes `path` when the block ends well.

    In a block of `together` it waits for the others. A link stays one: what it points to is
    replaced. A device or a pipe (/dev/null, a FIFO) is yielded itself.

    Raises:
        OutputError: if `path` exists (and may not be replaced), is a directory, or its directory
        cannot be written.
    """
    path = Path(path)
    refuse_existing(path, overwrite=overwrite)
    check_kind(path, directory=False)
    if is_special(path):
        with naming(path):
            yield path
        return
    final = target(path)
    check_parent(final)
    clear_scraps(final)
    temporary = final.with_name(f".{final.name}.{os.getpid()}.tmp")
    check = partial(refuse_existing, final, overwrite=overwrite)
    with naming(final), ExitStack() as held:
        held.enter_context(half_written(temporary))
        mode = _mode(temporary)
        yield temporary
        _settle(temporary, mode)
        _hand_over(path, Written(temporary, final, check), held)


def _hand_over(path: Path, written: Written, held: ExitStack) -> None:
    """Let what is written have its name, when those are written that it waits for."""
    note, witness = _witnesses.get(path, (None, None))
    with together(*filter(None, (note, path))) as group:
        if note and witness:
            group.notes.add(note)
            witness(written.temporary)
        group.written[path] = written
        group.held.push(held.pop_all())


def target(path: Path) -> Path:
    """Return what a link leads to; what is none is its own target.

    Raises:
        OutputError: if it leads to itself.
    """
    if not path.is_symlink():
        return path
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise OutputError("is a link that leads to itself", where=path) from None


@contextmanager
def atomic_directory(path: str | Path, *, overwrite: bool) -> Generator[Path]:
    """Yield a temporary directory that becomes `path` when the block ends well.

    What was there goes only then. A link stays one: what it points to is replaced.

    Raises:
        OutputError: if `path` exists (and may not be replaced), is no directory, or its directory
        cannot be written.
    """
    final = Path(path)
    if final.parent.is_dir():
        give_back(final)
    refuse_existing(final, overwrite=overwrite)
    check_kind(final, directory=True)
    final = target(final)
    check_parent(final)
    clear_scraps(final)
    temporary = final.with_name(f".{final.name}.{os.getpid()}.tmp")
    old = final.with_name(f".{final.name}.{os.getpid()}.old")
    try:
        with naming(final), half_written(temporary, Path.mkdir):
            usual = temporary / ".mode"
            usual.touch()
            mode = _mode(usual)
            usual.unlink()
            yield temporary
            for file in filter(Path.is_file, temporary.rglob("*")):
                _settle(file, mode)
            refuse_existing(final, overwrite=overwrite)  # it may have come meanwhile
            if final.exists():
                final.replace(old)
            make_ready(final)
            temporary.replace(final)
    except BaseException:
        if old.exists():  # the second of the two renames has failed
            old.replace(final)
        raise
    finally:
        remove_folder(old)


def link_or_copy(source: str, target: str) -> None:
    """Give a file a second name, or copy it where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _settle(path: Path, mode: int) -> None:
    """Flush a file to the disk, and let others read it that may read new files."""
    if _mode(path) == PRIVATE:
        path.chmod(mode)
    sync(path)


def sync(path: Path) -> None:
    """Flush a file to the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def check_parent(final: Path) -> None:
    """Raise OutputError if the directory of an output is not there, or cannot be written."""
    try:
        parent = final.absolute().parent
    except FileNotFoundError:  # the working directory was removed
        raise OutputError("no such directory", where=final.parent) from None
    if not parent.is_dir():
        raise OutputError("no such directory", where=final.parent)
    if not os.access(parent, os.W_OK):
        raise OutputError("directory is not writable", where=final.parent)

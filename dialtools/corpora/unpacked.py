"""Inputs made ready to be read: copies of what is elsewhere, archives of one's own files unpacked.

The files lie in `…/dialtools.unpacked/ARCHIVE/=/NAME`, and are called `ARCHIVE/NAME`, which the
path tells (`bytesio.own_name`). Archives of a published corpus are read in place.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from copy import copy
from pathlib import Path
from typing import Any

from dialtools.corpora.catalog import CORPORA
from dialtools.corpora.native.files import Files
from dialtools.corpora.options import CorpusOptions
from dialtools.corpora.published import lies_in
from dialtools.streams import remote
from dialtools.streams.bytesio import place_of_archive
from dialtools.streams.formats import by_suffix, is_archive
from dialtools.streams.policy import Policy


def at_hand(options: Any, folder: Path) -> Any:
    """Return options with copies in place of what is elsewhere, and folders in that of archives.

    Args:
        folder: made by `remote.scratch`, to write into.

    Raises:
        DataError: if an input cannot be reached, or an archive is damaged, larger than bounds
            allow, or has another inside.
    """
    options = remote.at_hand(options, folder)
    if not isinstance(options, CorpusOptions):
        return options
    copies = copy(options)
    copies.inputs = tuple(_unpacked(path, options.from_, folder) for path in options.inputs)
    return copies


def size(path: str, chosen: str | None) -> int:
    """Return the bytes of an input as who reads it tells them: of an archive, those of its files.

    Args:
        chosen: --from.

    Raises:
        DataError: if it is not there, or is a pipe.
    """
    with _own_archive(path, chosen) as files:
        return files.archived_bytes if files else remote.size(path)


def _unpacked(path: str, chosen: str | None, folder: Path) -> str:
    with _own_archive(path, chosen) as files:
        if not files:
            return path
        target = place_of_archive(path, folder)
        if not target.exists():  # it may be named twice
            for name in files.names():
                if is_archive(name):
                    hint = "unpack the outer one, and name what is in it"
                    files.fail(name, "an archive in an archive", hint=hint)
                files.unpack(name, target)
        return str(target)


@contextmanager
def _own_archive(path: str, chosen: str | None) -> Generator[Files | None]:
    """Open an archive of one's own files; None of what is another input."""
    if chosen in CORPORA or not (is_archive(path) and Path(path).is_file()):
        yield None
        return
    with closing(Files(path, Policy())) as files:
        own = any(map(by_suffix, files.names()))
        foreign = not own or any(lies_in(files, corpus) for corpus in CORPORA.values())
        yield None if foreign else files

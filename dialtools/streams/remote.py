"""Files elsewhere: s3://, gs://, hdfs://, whatever pyarrow's file systems name.

Commands read files on the disk, from several places at once, more than once. So what lies elsewhere
is copied into a scratch folder, `…/dialtools.remote/s3:/bucket/key`, and is called by its own
name, which the path of the copy tells (`bytesio.own_name`).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from dialtools.errors import DataError
from dialtools.shown import first_line
from dialtools.streams.atomic import atomic_file
from dialtools.streams.bytesio import NO_HOST, REMOTE, own_name
from dialtools.streams.formats import DEFAULT, FORMATS, by_suffix, names_beside
from dialtools.streams.parts import unfolded
from dialtools.streams.provenance import input_bytes
from dialtools.streams.scraps import temporary_folder
from dialtools.streams.shards import Shard
from dialtools.streams.spans import spans

OBJECT_STORES = ("s3", "gcs", "abfs")
"""Where a file is there whole or not at all: it needs no other name while it is written."""

FETCH = "fetch it first: curl -fLO {}"


def is_remote(path: str) -> bool:
    """Tell whether a name is a URI, not a path."""
    return bool(re.match(r"[a-z][a-z0-9+.-]*://", path))


class Place(NamedTuple):
    """A path in a file system of pyarrow's."""

    uri: str
    system: Any
    path: str

    @classmethod
    def of(cls, name: str) -> Place:
        """Return the place of a URI, or of a path on this machine.

        Raises:
            DataError: if pyarrow has no such file system, or cannot reach it.
        """
        from pyarrow import fs

        if name.startswith(("http://", "https://")):
            raise DataError(
                "not read from the web", where=name, hint=FETCH.format(shlex.quote(name))
            )

        if not is_remote(name):
            return cls(name, fs.LocalFileSystem(), name)
        with naming_errors(name):
            return cls(name, *fs.FileSystem.from_uri(name))

    @property
    def is_file(self) -> bool:
        """Whether a file is there, not a folder nor nothing."""
        from pyarrow import fs

        with naming_errors(self.uri):
            return self.system.get_file_info(self.path).type == fs.FileType.File

    def files(self) -> dict[str, int]:
        """Return the sizes, by their paths, of what is in the folder; nothing of none.

        Raises:
            DataError: if it cannot be reached.
        """
        from pyarrow import fs

        inner = fs.FileSelector(self.path, allow_not_found=True, recursive=True)
        with naming_errors(self.uri):
            found = self.system.get_file_info(inner)
        return {file.path: file.size for file in found if file.type == fs.FileType.File}


@contextmanager
def naming_errors(name: str) -> Generator[None]:
    """Turn what a file system says into an error that names the file.

    Raises:
        DataError: in place of that error.
    """
    try:
        yield
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's own are such
        raise DataError(first_line(error), where=name) from None


def size(name: str) -> int:
    """Return the bytes of a file, or of those in a folder, here or elsewhere.

    Raises:
        DataError: if it is not there, or is a pipe.
    """
    if not is_remote(name):
        total = input_bytes(name)
    elif (place := Place.of(name)).is_file:
        with naming_errors(name):
            total = place.system.get_file_info(place.path).size
    else:
        total = sum(place.files().values()) or None
    if total is None:
        raise DataError("no such file or directory", where=own_name(name))
    return total


def at_hand(options: Any, folder: Path) -> Any:
    """Return options whose inputs are copies, where they were elsewhere.

    Args:
        folder: made by `scratch`, to copy into.

    Raises:
        DataError: if one is not there, or cannot be reached.
    """
    copies = copy(options)
    shard = None if getattr(options, "reads_all", True) else options.part
    copies.inputs = tuple(copied(options.inputs, folder, shard))
    return copies


def copied(names: Sequence[str], folder: Path, shard: Shard | None = None) -> list[str]:
    """Return names with copies in place of what is elsewhere; of a matrix with its columns.

    Args:
        folder: made by `scratch`, to copy into.
        shard: the part that is read; of files that are another's, holes as large come, not copies.
    """
    local: list[str] = []
    waiting: dict[str, Place] = {}
    for name in names:
        if not is_remote(name):
            local.append(name)
            continue
        place = Place.of(name)
        path = _place_of_copy(name, folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        local.append(str(path))
        if place.is_file:
            path.touch()
            os.truncate(path, size(name))
            waiting[str(path)] = place
        else:
            size(name)  # it is there
            path.mkdir(exist_ok=True)  # named twice, or beside a file in it
            _fetch(place, str(path))
    read = {path for path, _ in spans(unfolded(local), shard)} if shard else waiting
    for path, place in waiting.items():
        if path in read:
            _fetch(place, path)
            end = FORMATS[by_suffix(path) or DEFAULT].beside
            beside = zip(names_beside(place.path, end), names_beside(path, end), strict=True)
            for there, here in beside if end else ():
                if (columns := place._replace(path=there)).is_file:
                    _fetch(columns, here)
    return local


def _place_of_copy(name: str, folder: Path) -> Path:
    """Return where below a folder the copy of a URI lies: dots in it lead nowhere else."""
    scheme, _, rest = name.partition("?")[0].partition("://")
    host, _, path = rest.partition("/")
    inner = os.path.normpath(f"/{path}").lstrip("/")
    return folder.joinpath(f"{scheme}:", host if host.strip(".") else NO_HOST, inner)


def _fetch(place: Place, target: str) -> None:
    from pyarrow import fs

    with naming_errors(place.uri):
        fs.copy_files(place.path, target, source_filesystem=place.system)


@contextmanager
def scratch() -> Generator[Path]:
    """Yield a folder for copies and results, which goes with the block; of killed runs, later."""
    with temporary_folder() as parent:
        folder = parent / REMOTE
        folder.mkdir()
        yield folder


def send(file: Path, target: str) -> None:
    """Copy a file to a path or URI, where it appears whole or not at all.

    Raises:
        DataError: if it cannot be written there.
    """
    from pyarrow import fs

    if not is_remote(target):
        with atomic_file(target, overwrite=True) as temporary:
            shutil.copyfile(file, temporary)
        return
    place = Place.of(target)
    with naming_errors(target):
        if place.system.type_name in OBJECT_STORES:
            fs.copy_files(str(file), place.path, destination_filesystem=place.system)
            return
        parent, _, name = place.path.rpartition("/")
        aside = f"{parent}/.{name}.{token_hex(4)}.tmp"
        fs.copy_files(str(file), aside, destination_filesystem=place.system)
        place.system.move(aside, place.path)

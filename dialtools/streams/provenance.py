"""What made a file: version, command line, options, inputs, counts.

Inputs are described once, by what was there when the run began; a file that changes while it is
read is an error, never described as if it had been read so.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import orjson

from dialtools import __version__
from dialtools.catalog import load
from dialtools.errors import DataError
from dialtools.options import Spec, settings, specs
from dialtools.streams.bytesio import files_below, open_file, own_name
from dialtools.streams.formats import FORMATS, by_magic, names_beside
from dialtools.streams.scraps import lasting
from dialtools.streams.together import content_of

KEY = "dialtools"
SCHEMA = "dialtools.provenance/1"


class Inputs:
    """The files a run reads: sizes and times noted at once, digests taken when first asked for.

    Attributes:
        unread: those of which no digest is taken: another part's.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths) or ("-",)
        self.unread: Container[str] = ()
        self._stamps = {file: _stamp(file) for path in self.paths for file in _files(path)}
        self._stdin: dict[str, Any] = {}

    @cached_property
    def _described(self) -> list[dict[str, Any]]:
        return [
            {"name": own_name(path), "bytes": input_bytes(path)}
            if path in self.unread
            else describe(path)
            for path in self.paths
        ]

    def described(self) -> list[dict[str, Any]]:
        """Return name, size and digest of each input, of stdin as far as it is known.

        Raises:
            DataError: if a file changed since the run began.
        """
        described = self._described
        self.check()
        return [facts | self._stdin if facts["name"] == "-" else facts for facts in described]

    def check_if_told(self) -> None:
        """Refuse to go on with what was described, and has changed since: an output may tell it.

        Raises:
            DataError: naming the file.
        """
        if "_described" in vars(self):
            self.check()

    def check(self) -> None:
        """Refuse to go on with a file that changed since the run began.

        Raises:
            DataError: naming it.
        """
        for file, stamp in self._stamps.items():
            if _stamp(file) != stamp:
                raise DataError("changed while it was read", where=file)

    def settle(self) -> None:
        """Take the files as read: what becomes of them from here on changes nothing.

        Raises:
            DataError: if a file changed since the run began.
        """
        self.described()
        self._stamps.clear()

    @property
    def stdin(self) -> dict[str, Any]:
        """What is known of stdin."""
        return {"name": "-", **self._stdin}

    def note_stdin(self, content: Mapping[str, Any]) -> None:
        """Take over what was read of stdin (`StreamDigest.content`)."""
        self._stdin = dict(content)


def _files(path: str) -> list[Path]:
    """Return the file of an input, with what lies beside it, or those of a folder.

    A pipe has none.
    """
    file = Path(path)
    if file.is_dir():
        return [path for path in files_below(file) if _stamp(path)]
    return [file, *companions(file)] if path != "-" and _stamp(file) else []


def companions(file: Path) -> list[Path]:
    """Return the files that belong to a file and lie beside it: the columns of a matrix."""
    ends = {kind.beside for kind in FORMATS.values() if kind.beside}
    found = (_first_file(names_beside(str(file), end)) for end in sorted(ends))
    return [path for path in found if path]


def _first_file(names: Iterable[str]) -> Path | None:
    paths = (content_of(Path(name)) for name in names)
    return next((path for path in paths if path.is_file()), None)


def input_bytes(path: str) -> int | None:
    """Return the bytes of a file, or of those of a folder; None of what is neither."""
    if path == "-" or not (Path(path).is_dir() or Path(path).is_file()):
        return None
    return sum(file.stat().st_size for file in _files(path))


def _stamp(file: Path) -> tuple[int, int] | None:
    """Return what changes when a file is written to: size, time in ns; None of what is no file."""
    try:
        status = file.stat()
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def provenance(
    *, command: str, options: Any, inputs: Inputs, counts: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what a file needs to tell to be made again.

    There is no time of day in it, nor an option that changes how a run goes: the same work gives
    the same bytes, broken off and resumed or not.
    """
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": command,
        "argv": argv_of_result([*map(own_name, sys.argv[1:])], specs(options.__class__)),
        "options": plain_settings(options),
        "inputs": inputs.described(),
        "counts": dict(counts or {}),
    }


def plain_settings(options: Any) -> dict[str, Any]:
    """Return the options that change the result and have a value, as JSON gives them back."""
    chosen = {key: value for key, value in settings(options).items() if value is not None}
    return orjson.loads(orjson.dumps(chosen, default=str))


def argv_of_result(argv: Sequence[str], known: Sequence[Spec]) -> list[str]:
    """Leave out the flags that change how a run goes, with their values."""
    flags = {name: spec for spec in known if spec.how for name in _names(spec)}
    short = {spec.short: spec for spec in known if spec.short}
    words: list[str] = []
    is_value = False
    for word in argv:
        if is_value:
            is_value = False
        elif re.match(r"-[a-zA-Z]", word):
            kept, is_value = _of_result(word, short)
            words += [f"-{kept}"] if kept else []
        elif spec := flags.get(word.partition("=")[0]):
            is_value = "=" not in word and spec.type is not bool
        else:
            words.append(word)
    return words


def _names(spec: Spec) -> list[str]:
    return [spec.flag, *([f"--no-{spec.key}"] if spec.negatable else [])]


def _of_result(word: str, short: Mapping[str, Spec]) -> tuple[str, bool]:
    """Return what stays of short flags in one word, and whether the next word goes: a value."""
    kept = ""
    for at, letter in enumerate(word[1:], 1):
        spec = short.get(f"-{letter}")
        if spec is None or spec.type is not bool:  # the rest is its value, if there is any
            goes = spec is not None and spec.how
            return (kept if goes else kept + word[at:]), goes and at == len(word) - 1
        kept += "" if spec.how else letter
    return kept, False


def describe(path: str) -> dict[str, Any]:
    """Return name, size and digest of an input, of several files over all; of a pipe the name."""
    file, name = Path(path), own_name(path)
    files = _files(path)
    if file.is_dir():
        return {"name": name, **_of_several({f.relative_to(file).as_posix(): f for f in files})}
    if path == "-" or not file.is_file():
        return {"name": name}
    if len(files) > 1:
        return {"name": name, **_of_several({f.name.removeprefix(file.name): f for f in files})}
    return {"name": name, "bytes": file.stat().st_size, "sha256": digest(file)}


def _of_several(files: Mapping[str, Path]) -> dict[str, Any]:
    """Return how many files there are, their size and digest, by what tells them apart."""
    total = hashlib.sha256()
    for name, file in files.items():
        line = f"{name}\0{digest(file)}\n"
        total.update(line.encode("utf-8", "surrogateescape"))
    return {
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files.values()),
        "sha256": total.hexdigest(),
    }


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hex, as `sha256sum` does."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def as_metadata(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return provenance as key-value metadata of Parquet and Arrow."""
    return {KEY: orjson.dumps(facts, option=orjson.OPT_SORT_KEYS, default=str).decode()}


def read_provenance(path: Path) -> dict[str, Any] | None:
    """Return what a model directory, a Parquet or an Arrow file tells of its making, or None.

    Raises:
        DataError: if the system refuses to read it: that tells nothing of its making.
    """
    file = path / "dialtools.json" if path.is_dir() else path
    if not file.is_file():  # a pipe never ends
        return None
    try:
        text = file.read_bytes() if path.is_dir() else _metadata(path)
        facts = orjson.loads(text)
    except (OSError, ValueError, DataError) as error:
        if isinstance(error, OSError) and error.errno:  # pyarrow's of damage have none
            raise DataError(os.strerror(error.errno), where=lasting(file)) from None
        return None
    return cast("dict[str, Any]", facts) if isinstance(facts, dict) else None


def _metadata(path: Path) -> bytes:
    """Return the text under our key of a table's metadata; empty, if it has none or is no table."""
    with path.open("rb") as file:
        kind = by_magic(file.read(1 << 10))
    reader = FORMATS[kind].metadata if kind else ""
    metadata: dict[bytes, bytes] = load(reader)(str(path)) if reader else {}
    return metadata.get(KEY.encode(), b"")

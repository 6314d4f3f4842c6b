"""What made a file: version, command line, options, inputs, counts.

Inputs are described once, by what was there when the run began; a file that changes while it is
read is an error, never described as if it had been read so.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

import orjson

from dialtools import __version__
from dialtools.errors import DataError
from dialtools.options import Spec, settings, specs
from dialtools.streams.bytesio import as_text
from dialtools.streams.formats import FORMATS, by_magic, load

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
            {"name": as_text(path), "bytes": input_bytes(path)}
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

    def check(self) -> None:
        """Refuse to go on with a file that changed since the run began.

        Raises:
            DataError: naming it.
        """
        for file, stamp in self._stamps.items():
            if _stamp(file) != stamp:
                raise DataError("changed while it was read", where=file)

    @property
    def stdin(self) -> dict[str, Any]:
        """What is known of stdin."""
        return {"name": "-", **self._stdin}

    def note_stdin(self, content: Mapping[str, Any]) -> None:
        """Take over what was read of stdin (`StreamDigest.content`)."""
        self._stdin = dict(content)


def _files(path: str) -> list[Path]:
    """Return the file of an input, or those of a folder; a pipe has none."""
    file = Path(path)
    if file.is_dir():
        inner = (Path(folder) / name for folder, _, names in os.walk(file) for name in names)
        return sorted(path for path in inner if _stamp(path))
    return [file] if path != "-" and _stamp(file) else []


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
    *,
    command: str,
    options: Any,
    inputs: Inputs,
    counts: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what a file needs to tell to be made again.

    There is no time of day in it, nor an option that changes how a run goes: the same work gives
    the same bytes, broken off and resumed or not.
    """
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": command,
        "argv": argv_of_result([*map(as_text, sys.argv[1:])], specs(options.__class__)),
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
    how = [spec for spec in known if spec.how]
    flags = {name: spec for spec in how for name in _names(spec)}
    words: list[str] = []
    is_value = False
    for word in argv:
        if is_value:
            is_value = False
            continue
        name = re.split(r"=|(?<=^-[a-zA-Z])(?=.)", word)[0] if word != "-" else word
        spec = flags.get(name)
        if spec is None:
            words.append(word)
        else:
            is_value = name == word and spec.type is not bool
    return words


def _names(spec: Spec) -> list[str]:
    negated = [f"--no-{spec.key}"] if spec.negatable else []
    return [spec.flag, *negated, *([spec.short] if spec.short else [])]


def describe(path: str) -> dict[str, Any]:
    """Return name, size and digest of an input, of a folder over its files; of a pipe the name."""
    file, name = Path(path), as_text(path)
    if file.is_dir():
        return {"name": name, **_folder(file)}
    if path == "-" or not file.is_file():
        return {"name": name}
    return {"name": name, "bytes": file.stat().st_size, "blake2b": digest(file)}


def _folder(folder: Path) -> dict[str, Any]:
    files = _files(str(folder))
    total = blake2b(digest_size=16)
    for file in files:
        line = f"{file.relative_to(folder).as_posix()}\0{digest(file)}\n"
        total.update(line.encode("utf-8", "surrogateescape"))
    return {
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "blake2b": total.hexdigest(),
    }


def digest(path: str | Path) -> str:
    """Return 128 bits of a file's content, in hex."""
    total = blake2b(digest_size=16)
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def as_metadata(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return provenance as key-value metadata of Parquet and Arrow."""
    return {KEY: orjson.dumps(facts, option=orjson.OPT_SORT_KEYS, default=str).decode()}


def read_provenance(path: Path) -> dict[str, Any] | None:
    """Return what a model directory, a Parquet or an Arrow file tells of its making, or None."""
    try:
        text = (path / "dialtools.json").read_bytes() if path.is_dir() else _metadata(path)
        facts = orjson.loads(text)
    except (OSError, ValueError, DataError):
        return None
    return cast("dict[str, Any]", facts) if isinstance(facts, dict) else None


def _metadata(path: Path) -> bytes:
    """Return the text under our key of a table's metadata; empty, if it has none or is no table."""
    with path.open("rb") as file:
        kind = by_magic(file.read(1 << 10))
    reader = FORMATS[kind].metadata if kind else ""
    metadata: dict[bytes, bytes] = load(reader)(str(path)) if reader else {}
    return metadata.get(KEY.encode(), b"")

"""What made a file: version, command line, options, inputs, counts."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from dialtools import __version__

KEY = "dialtools"
HOW_NOT_WHAT = (
    "resume",
    "overwrite",
    "quiet",
    "verbose",
    "debug",
    "color",
    "config",
    "print-config",
    "dry-run",
    "jobs",
    "threads",
)
"""Options that change how a run goes, not what it makes: a resumed run must give the bytes of an unbroken one."""


def provenance(
    *,
    command: str,
    options: Mapping[str, Any],
    inputs: Sequence[str],
    counts: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what a file needs to tell to be made again; no time of day, so that same work gives same bytes."""
    told = {
        key: value
        for key, value in options.items()
        if value is not None and key not in HOW_NOT_WHAT
    }
    return {
        "schema": "dialtools.provenance/1",
        "version": __version__,
        "command": command,
        "argv": _what(sys.argv[1:]),
        "options": {key: list(v) if isinstance(v, tuple) else v for key, v in told.items()},
        "inputs": [describe(path) for path in inputs or ("-",)],
        "counts": dict(counts or {}),
    }


def _what(argv: Sequence[str]) -> list[str]:
    """Leave out the flags that change how a run goes; --jobs and --threads with their numbers."""
    words, skip = [], False
    for word in argv:
        flag = re.split(r"=|(?<=^-j)(?=\d)", word)[0]
        name = {"-j": "jobs", "-q": "quiet", "-v": "verbose"}.get(flag, flag.removeprefix("--"))
        if not skip and not (word.startswith("-") and name in HOW_NOT_WHAT):
            words.append(word)
        skip = name in ("jobs", "threads") and flag == word and word.startswith("-")
    return words


def describe(path: str) -> dict[str, Any]:
    """Return name, size and digest of an input, of a folder those of its files; stdin has a name only."""
    file = Path(path)
    if file.is_dir():
        return {"name": path, **_folder(file)}
    if path == "-" or not file.is_file():
        return {"name": path}
    return {"name": path, "bytes": file.stat().st_size, "blake2b": digest(file)}


def _folder(folder: Path) -> dict[str, Any]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    total = blake2b(digest_size=16)
    for file in files:
        total.update(
            f"{file.relative_to(folder).as_posix()}\0{digest(file)}\n".encode(
                "utf-8", "surrogateescape"
            )
        )
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

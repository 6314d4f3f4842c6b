"""The files that a job leaves: in its working folder, and beside a finished output.

What they mean, and when they come and go, is told in `streams.resume`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import orjson

from dialtools import __version__
from dialtools.errors import OutputError
from dialtools.streams import checksums
from dialtools.streams.atomic import atomic_file, sync
from dialtools.streams.bytesio import own_name
from dialtools.streams.job import Description, Job
from dialtools.streams.provenance import companions, digest, read_provenance
from dialtools.streams.scraps import removed_at_the_end

MANIFEST = "job.json"
LOCK = "lock"
PIECES = "pieces.jsonl"
SCRAPS = (".*.tmp", ".*.old", ".tmp??????")
"""What `atomic_file`, `atomic_directory` and safetensors leave when they are killed."""
SCHEMA = "dialtools.job/1"
BESIDE = ".job.json"
"""After the name of an output that cannot carry its job itself."""


def write_manifest(folder: Path, job: Job, *, overwrite: bool) -> None:
    """Write what the folder is for: the job, and whether its output may replace another.

    Beside them stands who begins, which no job depends on.
    """
    facts: dict[str, Any] = {"schema": SCHEMA, "version": __version__, "overwrite": overwrite}
    facts["job"] = job.description()
    with atomic_file(folder / MANIFEST, overwrite=True) as path:
        path.write_bytes(orjson.dumps(facts, option=orjson.OPT_INDENT_2))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a working folder.

    Raises:
        OutputError: if there is none of ours.
        FileNotFoundError: if the folder is gone.
    """
    with suppress(FileNotFoundError, NotADirectoryError, ValueError):
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
        if isinstance(manifest, dict) and cast("Any", manifest).get("schema") == SCHEMA:
            return cast("dict[str, Any]", manifest)
    if not (folder.exists() or folder.is_symlink()):  # a link into nothing is somebody's
        raise FileNotFoundError(folder)
    raise OutputError(
        "is needed to work in, but was made by something else",
        where=folder,
        hint="nothing in it was touched: move it away, or give another -o",
    )


def add_piece(folder: Path, key: str, value: Any, *, skipped: int) -> None:
    """Write a finished piece and its bad records; they are on the disk when this returns."""
    row = {"key": key, "value": value, "skipped": skipped}
    row[checksums.KIND] = checksums.of_json(row)
    with (folder / PIECES).open("ab") as file:
        file.write(orjson.dumps(row, default=str) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read_pieces(folder: Path) -> tuple[dict[str, Any], int]:
    """Return the finished pieces and their bad records; a line that is half written goes.

    Raises:
        OutputError: if the others are not as `add_piece` wrote them.
    """
    path = folder / PIECES
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
        os.truncate(path, sum(map(len, lines)))
        sync(path)
    with suppress(AttributeError, KeyError, TypeError, ValueError):
        rows = [orjson.loads(line) for line in lines]
        if all(row.pop(checksums.KIND) == checksums.of_json(row) for row in rows):
            return {row["key"]: row["value"] for row in rows}, sum(row["skipped"] for row in rows)
    raise damaged(path)


def damaged(path: Path) -> OutputError:
    """Return the error for a file of a working folder that is not as it was written."""
    return OutputError("cannot resume: damaged", where=path, hint="--overwrite starts over")


def job_of_output(final: Path) -> Description | None:
    """Return the job that a finished output tells of; None if it is mute, or changed since."""
    note = beside(final)
    if not note.is_file():
        return read_provenance(final)
    with suppress(ValueError, KeyError, TypeError):
        facts = orjson.loads(note.read_bytes())
        told: dict[str, Any] = facts["output"]
        if told["sha256"] == digest(final) and told.get("beside") == _beside_it(final):
            return facts
    return None


def write_beside(final: Path, written: Path, facts: Mapping[str, Any]) -> None:
    """Write beside an output what made it, and the digest of the output it speaks for.

    Args:
        written: the output's content, which may not have its name yet.
    """
    output: dict[str, Any] = {"name": own_name(str(final)), "bytes": written.stat().st_size}
    output["sha256"] = digest(written)
    if digests := _beside_it(final):
        output["beside"] = digests
    facts = {**facts, "output": output}
    with atomic_file(beside(final), overwrite=True) as path:
        path.write_bytes(orjson.dumps(facts, option=orjson.OPT_INDENT_2, default=str))


def _beside_it(final: Path) -> list[str] | None:
    """Return the digests of what belongs to an output."""
    return [digest(path) for path in companions(final)] or None


def beside(final: Path) -> Path:
    """Return the file in which an output that cannot carry its job has it."""
    return final.with_name(final.name + BESIDE)


def remove(path: Path) -> None:
    """Remove a folder so that none ever sees half of it; or a file."""
    if path.is_dir():
        aside = path.with_name(f".{path.name.lstrip('.')}.{os.getpid()}.old")
        with removed_at_the_end(aside):
            path.rename(aside)
    else:
        path.unlink(missing_ok=True)

"""The parts that --shard makes: each tells what it is a part of; together they are one run's.

A part says so where every output tells what made it: a table in its metadata, JSON lines in
`PART.job.json`, with the digest of the part. It is what one run would say, and `shard`: which part
of how many. An input that a part does not touch is told without its digest.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.errors import DataError
from dialtools.shown import listed
from dialtools.streams.atomic import witnessed
from dialtools.streams.bytesio import inputs_below, open_file, own_name, refuse_missing
from dialtools.streams.formats import FORMATS, OUTPUT_FORMATS, by_suffix
from dialtools.streams.job import Description, changes
from dialtools.streams.job_files import BESIDE, beside, job_of_output, write_beside

SHARD = "shard"
OF_ONE = ("argv", "counts", "output", SHARD)
"""What the parts of a run may differ in."""
NO_DATA, NOTES = (".", "_"), (".json", ".md", ".crc")
"""What lies beside the files of a table: how their names begin, or end."""
MOST = 1_000_000
"""Parts of a run: what tells of more is no part."""
NOT_A_PART = "is no part, or has changed since"
NO_PART = "dial-pairs, dial-freq, dial-augment and dial-embed --shard I/N make parts"


class Part(NamedTuple):
    """A file, and what it tells."""

    path: str
    facts: Description

    @property
    def number(self) -> int:
        return self.facts[SHARD]["part"]

    @property
    def of(self) -> int:
        return self.facts[SHARD]["of"]

    def completed(self, digests: Mapping[int, str]) -> Part:
        """Return the part with the digests of the inputs that others read."""
        told: list[dict[str, Any]] = self.facts["inputs"]
        known = [
            {**file, "sha256": file.get("sha256", digests[n])} if n in digests else file
            for n, file in enumerate(told)
        ]
        return self._replace(facts={**self.facts, "inputs": known})

    def job(self) -> Description:
        """Return what all parts of a run have in common."""
        shared = {name: fact for name, fact in self.facts.items() if name not in OF_ONE}
        of_all = {name: fact for name, fact in self.facts[SHARD].items() if name != "part"}
        return {"files": {}, **shared, **of_all}


class Whole(NamedTuple):
    """All parts of a run in their order, and what the run would tell."""

    paths: list[str]
    facts: Description


@contextmanager
def telling_beside(output: str, facts: Callable[[], Mapping[str, Any]]) -> Generator[None]:
    """Write OUTPUT.job.json for an output written in this block, before that gets its name."""
    final = Path(output)
    with witnessed(final, beside(final), lambda written: write_beside(final, written, facts())):
        yield


def unfolded(paths: Sequence[str]) -> list[str]:
    """Return inputs with files in place of a folder: the parts of a run, or of a table, in order.

    Raises:
        DataError: if one is not there, or a folder has parts, but not all of one run.
    """
    refuse_missing(paths)
    return [file for path in paths or ("-",) for file in _files_of(path)]


def is_in_parts(path: str) -> bool:
    """Tell whether a path is a folder of the parts of a run, or of a table.

    Raises:
        DataError: as `unfolded`.
    """
    return unfolded([path]) != [path]


def _files_of(path: str) -> list[str]:
    if path == "-" or not Path(path).is_dir():
        return [path]
    return _parts_in(path) or _tables_in(path) or [path]


def _parts_in(path: str) -> list[str]:
    """Return the parts in a folder, in order; nothing of a folder without any.

    Raises:
        DataError: if one is missing, or other records lie beside them.
    """
    files = sorted(filter(Path.is_file, Path(path).iterdir()))
    found = {str(file): part_in(str(file)) for file in files if by_suffix(file.name)}
    parts = [part for part in found.values() if part]
    if not parts:
        return []
    whole_run = whole(parts, where=path)
    for file in files:
        records = by_suffix(file.name) in OUTPUT_FORMATS and not _is_note(file)
        if records and not found[str(file)]:
            hint = f"move it out of {own_name(path)}, which holds parts"
            raise DataError(NOT_A_PART, where=own_name(str(file)), hint=hint)
    return whole_run.paths


def _tables_in(path: str) -> list[str]:
    """Return the Parquet and Arrow files of a folder that holds no other data.

    DuckDB, Spark and `datasets` write such folders, with notes beside the files.
    """
    tables: list[Path] = []
    for file in inputs_below(Path(path)):
        format = FORMATS.get(by_suffix(file.name) or "")
        if format and format.reader and not format.lines:
            tables.append(file)
        elif not _is_note(file):
            return []
    return [str(file) for file in tables]


def _is_note(file: Path) -> bool:
    return file.name.startswith(NO_DATA) or file.suffix in NOTES


def gathered(paths: Sequence[str]) -> Whole:
    """Return the parts of one run in their order.

    Args:
        paths: files, or folders of them.

    Raises:
        DataError: if one is no part or is another run's, is there twice, or is missing.
    """
    parts: list[Part] = []
    for path in unfolded(paths):
        part = part_in(path)
        if part is None:
            raise DataError(NOT_A_PART, where=own_name(path), hint=NO_PART)
        parts.append(part)
    return whole(parts, where=None)


def whole(parts: Sequence[Part], *, where: str | None) -> Whole:
    """Return the parts in their order.

    Args:
        where: their folder, if they were found there.

    Raises:
        DataError: if they are not all of one run, or one is missing or there twice.
    """
    first, *others = completed(parts)
    for part in others:
        if different := str(changes(first.job(), part.job())):
            message = f"is of another run than {own_name(first.path)}: {different}"
            raise DataError(message, where=own_name(part.path))
    by_number: dict[int, str] = {}
    for part in parts:
        if other := by_number.get(part.number):
            message = f"is part {part.number} of {part.of}, and so is {own_name(other)}"
            raise DataError(message, where=own_name(part.path))
        by_number[part.number] = part.path
    missing = [str(n) for n in range(1, first.of + 1) if n not in by_number]
    if missing:
        raise DataError(f"not there: part {listed(missing)} of {first.of}", where=where)
    facts = {name: value for name, value in first.facts.items() if name not in (SHARD, "output")}
    return Whole([by_number[number] for number in sorted(by_number)], facts)


def completed(parts: Sequence[Part]) -> list[Part]:
    """Return parts each with the digests of the inputs that any of them has read."""
    digests = {
        place: file["sha256"]
        for part in parts
        for place, file in enumerate(part.facts["inputs"])
        if "sha256" in file
    }
    return [part.completed(digests) for part in parts]


def part_in(path: str) -> Part | None:
    """Return the part in a file; None of what tells of none, or has changed since it told.

    Raises:
        DataError: if it cannot be opened.
    """
    told = path != "-" and Path(path).is_file() and not path.endswith(BESIDE)
    if told:
        open_file(path).close()
    return part_of(path, job_of_output(Path(path)) if told else None)


def part_of(path: str, facts: Description | None) -> Part | None:
    """Return the part of which facts tell, if they do."""
    try:
        part = Part(path, facts or {})
        numbered = type(part.number) is type(part.of) is int
        numbered = numbered and 0 < part.number <= part.of <= MOST
        told = isinstance(part.facts["command"], str) and isinstance(part.facts["options"], dict)
        named = all(isinstance(file["name"], str) for file in part.facts["inputs"])
        return part if numbered and told and named else None
    except (KeyError, TypeError):
        return None

"""A folder of the parts of one job, here or elsewhere: which are done, and what they tell."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow.parquet as pq

from dialtools.errors import OutputError
from dialtools.streams.atomic import check_kind, check_parent
from dialtools.streams.job import changes
from dialtools.streams.parts import Part, completed, part_of
from dialtools.streams.provenance import KEY
from dialtools.streams.remote import Place, is_remote, naming_errors

NAME = re.compile(r"part-\d{5,}-of-\d{5,}\.parquet")


class Done(NamedTuple):
    """A part that is there whole, and how many rows it has."""

    part: Part
    rows: int


class Folder:
    """Where the parts go."""

    def __init__(self, name: str, of: int) -> None:
        """Make the folder, if it is not there.

        Raises:
            OutputError: if it cannot be made.
        """
        self.name, self.of = name.rstrip("/"), of
        if not is_remote(name):
            check_kind(name, directory=True)
            check_parent(Path(self.name))
        self.place = Place.of(name)
        with naming_errors(name):
            self.place.system.create_dir(self.place.path)

    def file(self, number: int) -> str:
        """Return the name of a part."""
        return f"{self.name}/part-{number:05d}-of-{self.of:05d}.parquet"

    def clear(self) -> None:
        """Remove all parts, of any job."""
        with naming_errors(self.name):
            for path in self._paths():
                self.place.system.delete_file(path)

    def done(self, mine: Part) -> dict[int, Done]:
        """Return the parts that are there, by their numbers.

        Args:
            mine: tells the job that they must be of.

        Raises:
            OutputError: if one is another's.
        """
        there = [self._read(path) for path in self._paths()]
        mine, *told = completed([mine, *(done.part for done in there)])
        for part in told:
            if different := str(changes(part.job(), mine.job())):
                raise OutputError(
                    f"is of another run: {different}",
                    where=part.path,
                    hint="--overwrite starts over, and another -o DIR leaves it alone",
                )
        return {done.part.number: done for done in there}

    def _paths(self) -> list[str]:
        names = ((path.rpartition("/")[2], path) for path in self.place.files())
        return sorted(path for name, path in names if NAME.fullmatch(name))

    def _read(self, path: str) -> Done:
        name = f"{self.name}/{path.rpartition('/')[2]}"
        facts: Any = None
        rows = 0
        # Arrow's of the file, JSON's of what it tells
        with naming_errors(name), suppress(ValueError):
            told = pq.read_metadata(path, filesystem=self.place.system)
            facts = orjson.loads((told.metadata or {}).get(KEY.encode(), b"null"))
            rows = told.num_rows
        part = part_of(name, facts)
        if part is None:
            hint = "--overwrite starts over"
            raise OutputError("is no part, or damaged", where=name, hint=hint)
        return Done(part, rows)

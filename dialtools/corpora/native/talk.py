"""What readers of chat exports share: turns as they come, and what is none, by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

import orjson

from dialtools.corpora.catalog import JSON_FILES
from dialtools.corpora.dialogues import WITHOUT_TEXT
from dialtools.corpora.fields import BadRecord, json_kind
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import (
    BAD,
    LEFT_OUT,
    Bad,
    Raw,
    Reader,
    Unexpected,
    each_file,
    numbered,
    stated,
)
from dialtools.errors import DataError
from dialtools.streams import exact

NOTICES = "notices"
BOTS = "turns of bots"
INTERNAL = "notes of the team"


class Talk:
    """The turns of a dialogue, and what of it is no turn."""

    def __init__(self) -> None:
        self.turns: list[dict[str, Any]] = []
        self.left_out: Counter[str] = Counter()
        self.bad: list[Bad] = []

    def say(self, speaker: str | None, text: str, **facts: Any) -> None:
        """Add a turn, unless its text is blank; facts that are None are not known."""
        if text.strip():
            self.turns.append(stated(speaker=speaker or None, text=text.strip(), **facts))
        else:
            self.leave(WITHOUT_TEXT)

    def leave(self, reason: str) -> None:
        """Count what is no turn."""
        self.left_out[reason] += 1

    def objects(self, value: Any, name: str) -> list[dict[str, Any]]:
        """Return the objects of a list of messages; what is none is a bad record of its own.

        Raises:
            Unexpected: if it is no list.
        """
        return objects(value, name, self.bad)

    @contextmanager
    def hearing(self, message: dict[str, Any]) -> Generator[None]:
        """Read a message in this block; one of another layout is a bad record of its own."""
        try:
            yield
        except (Unexpected, BadRecord) as error:
            self.bad.append((str(error), message))

    def record(self, **facts: Any) -> dict[str, Any]:
        """Return the dialogue, oldest turn first; facts that are None are left out."""
        times = [turn.get("time") for turn in self.turns]
        if _goes_back(times):  # as exporters write it that are asked for the newest first
            self.turns.reverse()
        record = stated(**facts) | {"turns": self.turns}
        record |= {LEFT_OUT: dict(self.left_out)} if self.left_out else {}
        return record | ({BAD: self.bad} if self.bad else {})


def _goes_back(times: list[Any]) -> bool:
    """Tell whether times are all known, each before the one above it or the same."""
    alike = len({type(time) for time in times}) == 1 and None not in times
    return alike and times[0] > times[-1] and times == sorted(times, reverse=True)


def documents(*patterns: str, within: str | tuple[str, ...] = ()) -> Reader:
    """Make a reader of the objects of JSON files, of any or those of a name, numbered from 1.

    A file holds one, a list of them, an object that has the list under a name of `within`, or one a
    line.
    """

    names = (within,) if isinstance(within, str) else within

    @each_file(*(patterns or JSON_FILES))
    def raw(files: Files, name: str) -> Iterator[Raw]:
        try:
            content = files.json(name)
        except DataError:
            if not _is_of_lines(files, name):
                raise
            yield from numbered(files, name, files.json_records(name))
            return
        for held in names if isinstance(content, dict) else ():
            if isinstance(content.get(held), list):
                content = content[held]
                break
        found = content if isinstance(content, list) else [content]
        yield from (Raw(files.where(name, n), None, item) for n, item in enumerate(found, 1))

    return raw


def _is_of_lines(files: Files, name: str) -> bool:
    """Tell whether a file has an object a line: by its name, or as its first line is one."""
    if name.removesuffix(".gz").removesuffix(".zst").endswith((".jsonl", ".ndjson")):
        return True
    try:
        return isinstance(exact.loads(files.read(name).lstrip().partition(b"\n")[0]), dict)
    except orjson.JSONDecodeError:
        return False


def objects(value: Any, name: str, bad: list[Bad] | None = None) -> list[dict[str, Any]]:
    """Return the objects of a list.

    Args:
        bad: gets what is none.

    Raises:
        Unexpected: if it is no list or, without `bad`, one of its items is no object.
    """
    if not isinstance(value, list):
        raise Unexpected(f"{name}: expected a list, found {json_kind(value)}")
    for i, item in enumerate(value):
        if not isinstance(item, dict):
            found = f"{name}[{i}]: expected an object, found {json_kind(item)}"
            if bad is None:
                raise Unexpected(found)
            bad.append((found, item))
    return [item for item in value if isinstance(item, dict)]


def title(name: str) -> str:
    """Return what a log is called: its path without suffix, as folders may have files alike."""
    return str(PurePosixPath(name.removesuffix(".gz").removesuffix(".zst")).with_suffix(""))


def stem(name: str) -> str:
    """Return what a file is called, without folder and suffix, compressed or not."""
    return PurePosixPath(title(name)).name


def known_time(record: dict[str, Any], name: str) -> float | None:
    """Return a time in seconds, if the field holds a number."""
    time = record.get(name)
    return time if type(time) in (int, float) else None


def known_text(record: dict[str, Any], *names: str) -> str | None:
    """Return the first of the fields that holds a text or a number that names something."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None

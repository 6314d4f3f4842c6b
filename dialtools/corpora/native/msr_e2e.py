"""MSR-E2E: {movie,restaurant,taxi}_all.tsv, a message a row.

A row has as many columns of dialogue acts as the message has acts.
https://github.com/xiul-msr/e2e_dialog_challenge, Microsoft's own terms: no redistribution.
Published: 10,087 dialogues (movie 2,890, restaurant 4,103, taxi 3,094), 74,686 utterances
(TOD-BERT, table 1). Fields with a comma stand in double quotes, as a spreadsheet writes them. Acts
are `name(slot=value;slot={value#value};…)`, some with blanks around `=`, some without braces; their
values have no offsets and are marked where they stand in the text word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import (
    Raw,
    Unexpected,
    dialogue,
    each_file,
    known,
    occurrences,
    turn,
)

HEADER = "session.ID"
SPEAKERS = {"user": "user", "agent": "system"}
ACT = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
VALUES = re.compile(r"(?<!\w)(\w++)\s*+=\s*+(?:\{([^{}=]*)\}|([^\s;={}|][^;={}|]*))")
NO_SLOTS = {"greeting", "closing", "other", "result"}

Row = tuple[int, list[str]]


@each_file("movie_all.tsv", "restaurant_all.tsv", "taxi_all.tsv")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the rows of each session, numbered by the line of the first; `more` is the domain.

    Raises:
        DataError: if a file has another header.
    """
    rows: Iterator[Row] = (
        (n, [_plain(part) for part in line.split("\t")]) for n, line in files.lines(name)
    )
    _, header = next(rows, (0, [""]))
    if header[0] != HEADER:
        files.fail(name, f"expected a header that begins with {HEADER}, found {header[0]!r}")
    domain = PurePosixPath(name).name.partition("_")[0]
    for _, session in groupby(rows, key=lambda row: row[1][0]):
        held = list(session)
        yield Raw(files.where(name, held[0][0]), None, held, domain)


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its id is the session's within its domain."""
    return dialogue(
        raw,
        [_turn(row) for row in raw.value],
        id=f"{raw.more}/{raw.value[0][1][0]}",
        domain=raw.more,
    )


def _turn(row: Row) -> dict[str, Any]:
    line, fields = row
    if len(fields) < 5:
        expected = "session, message, time, speaker, text and acts"
        raise Unexpected(f"line {line}: expected {expected}, found {len(fields)} fields")
    acts = [act for part in fields[5:] if (act := ACT.fullmatch(part))]
    values = [pair for act in acts for pair in _values(act[2])]
    return turn(
        known(SPEAKERS, fields[3], f"line {line}: Message.From"),
        fields[4],
        slots=occurrences(fields[4], values),
        acts=list(dict.fromkeys(act[1].lower() for act in acts)),
    )


def _values(arguments: str) -> Iterator[tuple[str, str]]:
    """Yield slot and value of an act's arguments, the members of sets one by one."""
    for name, members, one in VALUES.findall(arguments):
        if name not in NO_SLOTS:
            yield from ((name, value) for value in (members or one).split("#"))


def _plain(part: str) -> str:
    """Return a field without the quotes around it."""
    quoted = len(part) > 1 and part[0] == part[-1] == '"'
    return part[1:-1].replace('""', '"') if quoted else part

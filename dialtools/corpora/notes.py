"""Turns that a log marks as notes of a team, which customers never saw."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dialtools.streams.chunks import Chunk
from dialtools.streams.tally import Tally, counted

NOTED = "turns marked as notes"
MARKS = {
    **dict.fromkeys(("internal", "is_internal", "isInternal"), "true"),
    **dict.fromkeys(("private", "is_private", "isPrivate"), "true"),
    **dict.fromkeys(("internal_note", "is_note", "private_note"), "true"),
    **dict.fromkeys(("public", "is_public", "isPublic", "jsdPublic"), "false"),
}
"""Fields of turns, and the value that makes a note of one; in tables 1 and 0 mean the same."""
NAMED = re.compile(rf'"(?:{"|".join(MARKS)})":'.encode())
MARKED = re.compile("|".join(rf'"{name}":\s*{value}\b' for name, value in MARKS.items()).encode())
LOOKED_AT = 4 << 20
"""Bytes of an input that tell whether it marks turns: looking at all takes a quarter longer."""


def with_marks_counted(chunks: Iterable[Chunk], tally: Tally) -> Iterator[Chunk]:
    """Yield the chunks of an input; count marks in JSON lines whose first MiB have such a field."""
    looked_at, named = 0, False
    for chunk in chunks:
        if chunk.json and (named or looked_at < LOOKED_AT):
            looked_at += len(chunk.data)
            named = named or bool(NAMED.search(chunk.data))
            if named:
                tally.facts[NOTED] += sum(1 for _ in MARKED.finditer(chunk.data))
        yield chunk


def is_marked(row: Mapping[str, Any]) -> bool:
    """Tell whether a row of a table is marked as a note."""
    return any(
        str(row[name]).casefold() in (value, str(int(value == "true")))
        for name, value in MARKS.items()
        if name in row
    )


def noted_line(tally: Tally) -> str:
    """Return the line on turns that are marked as notes, or ""."""
    if not (number := tally.facts[NOTED]):
        return ""
    marked = f"{counted(number, 'turn')} marked internal, private or not public"
    return f"{marked}: if a team wrote them for itself, leave them out first (jq, DuckDB)"

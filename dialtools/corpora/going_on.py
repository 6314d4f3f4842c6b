"""Dialogues of tables of turns where one file ends and the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dialtools.corpora.by_dialogue import Row
from dialtools.corpora.dialogues import DOMAIN
from dialtools.corpora.options import LogOptions
from dialtools.corpora.table import dialogues_of
from dialtools.errors import DataError
from dialtools.streams.chunks import ROWS, Chunk
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

GONE_ON = "files of which the last dialogue goes on in the next"
AGAIN = "dialogues with the id of one in a file before"


def going_on(
    chunks: Iterator[Chunk], logs: LogOptions, tally: Tally, after: Callable[[], Chunk | None]
) -> Iterator[Chunk]:
    """Yield the chunks of several files, with each dialogue whole that the end of a file cuts.

    Holds two chunks, and a number for each dialogue.

    Args:
        tally: gets the files that cut one, and dialogues with the id of one in a file before.
        after: returns the first chunk of the file behind them, which another part reads.

    Raises:
        DataError: if a dialogue goes on there.
    """
    before: set[int] = set()
    own: set[int] = set()
    held: Chunk | None = None
    for chunk in chunks:
        if not _is_table(chunk):
            yield from filter(None, (held, chunk))
            held = None
            continue
        if chunk.first == 1:
            before |= own
            own = set()
            if held and _goes_on(held, chunk):
                chunk.data[0] = _joined(held.data.pop(), chunk.data[0], chunk.name, logs)
                before.discard(hash(chunk.data[0]["id"]))
                tally.facts[GONE_ON] += 1
        names = {hash(record["id"]) for record in chunk.data}
        tally.facts[AGAIN] += len(names & before)
        own |= names
        if held and held.data:
            yield held
        held = chunk
    if held:
        _refuse_cut(held, after())
        yield held


def _refuse_cut(held: Chunk, other: Chunk | None) -> None:
    if other and _goes_on(held, other):
        raise DataError(
            f"dialogue {held.data[-1]['id']!r} goes on in {other.name}, where --shard cuts",
            where=held.name,
            hint="without --shard, or cut elsewhere by another number of parts, it is whole",
        )


def _is_table(chunk: Chunk) -> bool:
    """Tell whether records are made of rows: those of a corpus have lines."""
    return chunk.format == ROWS and chunk.lines is None


def _goes_on(held: Chunk, chunk: Chunk) -> bool:
    return _is_table(chunk) and held.data[-1]["id"] == chunk.data[0]["id"]


def _joined(
    begun: dict[str, Any], rest: dict[str, Any], name: str, logs: LogOptions
) -> dict[str, Any]:
    """Return a dialogue of which two files have a part each."""
    shared = ({DOMAIN: part[DOMAIN]} if DOMAIN in part else {} for part in (begun, rest))
    parts = zip(shared, (begun, rest), strict=True)
    turns = (Row(0, rest["id"], turn | known) for known, part in parts for turn in part["turns"])
    return next(dialogues_of(turns, name, logs, Policy(), Tally()))

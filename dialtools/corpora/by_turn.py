"""A dialogue as a row for each of its turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from dialtools.corpora.dialogues import (
    HISTORY,
    RESPONSE,
    SPEAKER_KEYS,
    TURN_TEXTS,
    WITHOUT_TEXT,
    dialogue,
    field_of_turns,
)
from dialtools.corpora.shape import as_turns
from dialtools.streams.policy import Where
from dialtools.streams.tally import Tally

Row = dict[str, Any]


def turns(
    where: Where, record: Mapping[str, Any], tally: Tally, *, most: int | None = None
) -> Iterator[Row]:
    """Yield a row for each turn with a text: its own fields, and the `history` that ends with it.

    Args:
        tally: gets the turns that are left out.
        most: turns of a history, the newest; without it a row has all turns before.

    Raises:
        BadRecord: if the record is no dialogue.
    """
    for part, again in as_turns(record, tally):
        yield from islice(_turns(where, part, tally, most), again, None)


def _turns(
    where: Where, record: Mapping[str, Any], tally: Tally, most: int | None
) -> Iterator[Row]:
    talk = dialogue(record)
    key, listed = field_of_turns(record)
    # beside a history, the response and its speaker are the last turn, not facts of the dialogue
    last_turn = (RESPONSE, "speaker") if key == HISTORY else ()
    shared = {k: v for k, v in record.items() if k not in (key, "id", "dialogue_id", *last_turn)}
    shared["dialogue_id"] = talk.id if talk.id is not None else str(where)
    said = [turn for turn, text in zip(listed, talk.texts, strict=True) if text]
    tally.drop(WITHOUT_TEXT, len(listed) - len(said))
    talk = talk.spoken()
    history = [
        {"speaker": who, "text": text} for who, text in zip(talk.speakers, talk.texts, strict=True)
    ]
    for i, turn in enumerate(said):
        fields = turn if isinstance(turn, dict) else {}
        facts = {k: v for k, v in fields.items() if k not in (*TURN_TEXTS, *SPEAKER_KEYS)}
        newest = history[max(0, i + 1 - (most or i + 1)) : i + 1]
        yield {**shared, "turn": i, **history[i], **facts, HISTORY: newest}

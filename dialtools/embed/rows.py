"""What becomes a row of an embedding file: a record, a turn of a dialogue, or a candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dialtools.corpora.dialogues import (
    HISTORY,
    RESPONSE,
    SPEAKER_KEYS,
    TEXT_KEYS,
    dialogue,
    field_of_turns,
)
from dialtools.streams.policy import Where

Row = dict[str, Any]
PER = ("record", "turn", "candidate")


def expander(per: str) -> Callable[[Where, Row], Iterator[Row]]:
    """Return the function that makes rows of a record; it may remember what it has seen."""
    return {"record": _itself, "turn": turns, "candidate": Candidates()}[per]


def _itself(_where: Where, record: Row) -> Iterator[Row]:
    yield record


def turns(where: Where, record: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each turn of a dialogue: its own fields, and the `history` that ends with it.

    Raises:
        BadRecord: if the record is no dialogue.
    """
    talk = dialogue(record)
    key, listed = field_of_turns(record)
    # beside a history, the response and its speaker are the last turn, not facts of the dialogue
    last_turn = (RESPONSE, "speaker") if key == HISTORY else ()
    shared = {k: v for k, v in record.items() if k not in (key, "id", "dialogue_id", *last_turn)}
    shared["dialogue_id"] = talk.id if talk.id is not None else str(where)
    history = [
        {"speaker": who, "text": text} for who, text in zip(talk.speakers, talk.texts, strict=True)
    ]
    for i, turn in enumerate(listed):
        fields = turn if isinstance(turn, dict) else {}
        facts = {k: v for k, v in fields.items() if k not in (*TEXT_KEYS, *SPEAKER_KEYS)}
        yield {**shared, "turn": i, **history[i], **facts, HISTORY: history[: i + 1]}


class Candidates:
    """Yields each distinct text that records list in `candidates`, or name as true; holds them."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __call__(self, _where: Where, record: Mapping[str, Any]) -> Iterator[Row]:
        listed = record.get("candidates")
        if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
            raise ValueError("candidates: expected a list of texts")
        true = record.get("positive", record.get("response"))
        texts = [*listed, true] if isinstance(true, str) else listed
        for text in texts:
            if text not in self.seen:
                self.seen.add(text)
                yield {"text": text}

"""What becomes a row of an embedding file: a record, a turn of a dialogue, or a candidate response."""

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
    """Yield a row for each turn of a dialogue: fields of that very turn, and the `history` that ends with it.

    Raises:
        BadDialogue: if the record is no dialogue.
    """
    said = dialogue(record)
    key, given = field_of_turns(record)
    gone = (key, "id", "dialogue_id", *((RESPONSE, "speaker") if key == HISTORY else ()))
    about = {k: v for k, v in record.items() if k not in gone}
    about["dialogue_id"] = said.id if said.id is not None else str(where)
    spoken = [
        {"speaker": who, "text": text} for who, text in zip(said.speakers, said.texts, strict=True)
    ]
    for i, turn in enumerate(given):
        own = turn if isinstance(turn, dict) else {}
        facts = {k: v for k, v in own.items() if k not in (*TEXT_KEYS, *SPEAKER_KEYS)}
        yield {**about, "turn": i, **spoken[i], **facts, HISTORY: spoken[: i + 1]}


class Candidates:
    """Yields each distinct text that records list in `candidates`, or name as `positive` or `response`; holds them."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __call__(self, _where: Where, record: Mapping[str, Any]) -> Iterator[Row]:
        listed = record.get("candidates")
        if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
            raise ValueError("candidates: expected a list of texts")
        true = record.get("positive", record.get("response"))
        for text in [*listed, true] if isinstance(true, str) else listed:
            if text not in self.seen:
                self.seen.add(text)
                yield {"text": text}

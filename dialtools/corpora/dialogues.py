"""Records to dialogues: the dialects of `turns`, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

TURN_KEYS = ("turns", "dialogue", "messages")
HISTORY, RESPONSE = "history", "response"
TEXT_KEYS = ("text", "utterance", "content")
SPEAKER_KEYS = ("speaker", "role", "author")


class Dialogue(NamedTuple):
    """A dialogue: t texts in order, and who said each (None if unknown)."""

    id: str | None
    texts: list[str]
    speakers: list[str | None]


class BadDialogue(ValueError):
    """A record that is no dialogue; the message names the field."""


def dialogue(record: Mapping[str, Any]) -> Dialogue:
    """Return the dialogue of a record.

    Raises:
        BadDialogue: naming the field, what was expected and what was found.
    """
    key, turns = field_of_turns(record)
    identity = record.get("id", record.get("dialogue_id"))
    try:  # the common dialect, fast
        return Dialogue(
            _identity(identity),
            [t["text"].strip() for t in turns],
            [t.get("speaker") for t in turns],
        )
    except (KeyError, TypeError, AttributeError):
        pairs = [_turn(turn, f"{key}[{i}]") for i, turn in enumerate(turns)]
        texts = [text for text, _ in pairs]
        speakers = [speaker for _, speaker in pairs]
        return Dialogue(_identity(identity), texts, speakers)


def field_of_turns(record: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the name of the field that holds the turns of a record, and the turns.

    The response of a record with a history is the last turn of that history.

    Raises:
        BadDialogue: if it has none, or something else than a list.
    """
    key = next((key for key in TURN_KEYS if key in record), None)
    if key is None and HISTORY in record and RESPONSE in record:
        key = HISTORY
    if key is None:
        raise BadDialogue('no "turns"')
    turns = record[key]
    if type(turns) is not list:
        raise BadDialogue(f'"{key}" must be a list')
    if key != HISTORY:
        return key, turns
    if not isinstance(record[RESPONSE], str):
        raise BadDialogue(f"{RESPONSE}: expected a string, got {json_kind(record[RESPONSE])}")
    return key, [*turns, {"text": record[RESPONSE], "speaker": record.get("speaker")}]


def _identity(value: Any) -> str | None:
    return None if value is None else str(value)


def _turn(turn: Any, where: str) -> tuple[str, str | None]:
    if isinstance(turn, str):
        return turn.strip(), None
    if not isinstance(turn, dict):
        raise BadDialogue(f"{where}: expected a string or an object, got {json_kind(turn)}")
    key = next((k for k in TEXT_KEYS if k in turn), None)
    if key is None:
        raise BadDialogue(f'{where}: no "text"')
    if not isinstance(turn[key], str):
        raise BadDialogue(f"{where}.{key}: expected a string, got {json_kind(turn[key])}")
    speaker = next((turn[k] for k in SPEAKER_KEYS if k in turn), None)
    if speaker is not None and not isinstance(speaker, str):
        raise BadDialogue(f"{where}.speaker: expected a string, got {json_kind(speaker)}")
    return turn[key].strip(), speaker


def json_kind(value: Any) -> str:
    """Return the JSON name of a value's type."""
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    if value is None:
        return "null"
    return names.get(type(value)) or getattr(value, "kind", type(value).__name__)

"""The texts of a record that are to be counted: by its kind, or by the name of a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialtools.corpora.dialogues import dialogue
from dialtools.corpora.fields import TURN_TEXTS, BadRecord, json_kind
from dialtools.corpora.shape import as_turns, holds_turns
from dialtools.shown import listed, quoted
from dialtools.streams.tally import Tally

RESPONSE, TEXT, COUNT = "response", "text", "count"
LARGEST = 1 << 62
"""Beyond it the sums of 64-bit counts could overflow."""


def field_texts(record: dict[str, Any], name: str | None, tally: Tally) -> list[str]:
    """Return the texts of a field.

    Args:
        name: None is the response of a pair, the turns of a dialogue, the text of an utterance.
        tally: gets the messages of a chat that are no turns.

    Raises:
        BadRecord: if there is no such field, or it holds something else.
    """
    if name is None:
        if RESPONSE in record:
            name = RESPONSE
        elif holds_turns(record):
            parts = as_turns(record, tally)
            return [text for part, again in parts for text in dialogue(part).texts[again:]]
        elif TEXT in record:
            name = TEXT
        else:
            raise BadRecord(f'no "response", "turns" or "text"; there are {_names(record)}')
    if name not in record:
        raise BadRecord(f"no field {quoted(name)}; there are {_names(record)}")
    value = record[name]
    if type(value) is list:
        return [_text(part, f"{name}[{i}]") for i, part in enumerate(value)]
    return [_text(value, name)]


def count_of(record: Mapping[str, Any]) -> int:
    """Return the count of a frequency record.

    Raises:
        BadRecord: if it has none.
    """
    count = record.get(COUNT)
    if type(count) is not int or not 0 < count < LARGEST:
        raise BadRecord('"count" must be a whole number above 0')
    return count


def _names(record: Mapping[str, Any]) -> str:
    return listed(record) or "no fields with a value"


def _text(value: Any, where: str) -> str:
    if type(value) is dict:
        value = next((value[key] for key in TURN_TEXTS if key in value), value)
    if type(value) is str:
        return value
    raise BadRecord(f"{where}: expected text, got {json_kind(value)}")

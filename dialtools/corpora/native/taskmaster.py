"""Taskmaster-1 to -4: JSON lists of conversations of USER and ASSISTANT.

Segments are slots, by character. https://github.com/google-research-datasets/Taskmaster, CC BY 4.0.
The first has self-dialogs.json, of which train-dev-test/*.csv list the ids of the splits, and
woz-dialogs.json; the second data/<domain>.json; the third and the fourth data/data_NN.json, the
fourth with speakers in lower case and offsets as strings. Published: 13,215 dialogues of the first
(303,066 utterances: TOD-BERT, table 1), 17,289 of the second, 23,757 of the third; the released
files of the fourth hold 3,710, of the 6,500 that its README tells of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from dialtools.corpora.native.files import Files, split_of_name
from dialtools.corpora.native.raw import (
    Raw,
    Unexpected,
    dialogue,
    field,
    json_items,
    known,
    numbered,
    one_file,
    slot,
    turn,
)

FIRST = ("self-dialogs.json", "woz-dialogs.json")
SECOND = ("flights", "food-ordering", "hotels", "movies", "music", "restaurant-search", "sports")
LATER = "data_[0-9][0-9].json"
SPEAKERS = {"user": "user", "assistant": "system"}


def raw(files: Files) -> Iterator[Raw]:
    """Yield the conversations of whichever of the four are there.

    `more` is the domain that a file's name tells.
    """
    names = files.needed(*FIRST, *(f"{domain}.json" for domain in SECOND), LATER)
    splits = {} if files.single else _splits(files)
    for name in names:
        path = PurePosixPath(name)
        if path.parent.name == "ontology":  # it has files of the same names
            continue
        domain = path.stem if path.stem in SECOND else None
        with one_file(files, name):
            for each in numbered(files, name, json_items(files, name), domain):
                named = each.value.get("conversation_id") if isinstance(each.value, dict) else None
                yield each._replace(split=splits.get(str(named)))


def _splits(files: Files) -> dict[str, str | None]:
    """Return the splits of conversations by id; only the self-dialogs of the first have any."""
    names = files.names("train-dev-test/*.csv")
    return {fields[0]: split_of_name(name) for name in names for _, fields in files.rows(name)}


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domain is the vertical, the file's name, or the instructions'."""
    turns = [_turn(entry) for entry in field(raw.value, "utterances", list)]
    domain = field(raw.value, "vertical", str, default=raw.more)
    if domain is None:
        instruction = field(raw.value, "instruction_id", str, default="")
        domain = re.sub(r"[-_ ]{0,9}\d{1,9}\w?$", "", instruction) or None
    return dialogue(raw, turns, id=field(raw.value, "conversation_id", str), domain=domain)


def _turn(entry: Any) -> dict[str, Any]:
    speaker, text = field(entry, "speaker", str), field(entry, "text", str)
    return turn(known(SPEAKERS, speaker.lower(), "speaker"), text, slots=_slots(entry, text))


def _slots(entry: Any, text: str) -> list[dict[str, Any]]:
    """Return the segments as slots, once each (two annotators marked them).

    Offsets that give another text are left out.
    """
    places: dict[tuple[int, int, str], None] = {}
    for segment in field(entry, "segments", list, default=[]):
        start, end = _offset(segment, "start_index"), _offset(segment, "end_index")
        if text[start:end] == field(segment, "text", str, default=text[start:end]):
            labels = (
                field(mark, "name", str) for mark in field(segment, "annotations", list, default=[])
            )
            places |= {(start, end, label): None for label in labels}
    return [slot(*place) for place in places]


def _offset(segment: Any, name: str) -> int:
    value: Any = segment.get(name) if isinstance(segment, dict) else None
    try:
        return int(value)
    except (TypeError, ValueError):
        raise Unexpected(f"{name}: expected a number, found {value!r}") from None

"""WOZ 2.0: woz_{train,validate,test}_en.json, lists of dialogues about restaurants.

Files of other languages are read only if named. https://github.com/nmrksic/neural-belief-tracker,
Apache-2.0. Published: 1,200 dialogues, 5,012 turns of two utterances (TOD-BERT, table 1), of which
the first has no system utterance. Slots are the values of `turn_label` where they stand in the
user's text word for word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import (
    Raw,
    dialogue,
    field,
    items,
    name_and_value,
    occurrences,
    turn,
)

REQUEST = "request"  # the value is the name of a slot, none that is said


def raw(files: Files) -> Iterator[Raw]:
    """Yield the dialogues of the English files, or else of those that are there."""
    return items("woz_*_en.json" if files.names("woz_*_en.json") else "woz_*_??.json")(files)


def record(raw: Raw, acts: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """Return a dialogue; its id is that of the corpus with its split before it.

    Args:
        acts: of system texts, if they are known.
    """
    number = field(raw.value, "dialogue_idx", int)
    turns = [
        each for entry in field(raw.value, "dialogue", list) for each in _turns(entry, acts or {})
    ]
    return dialogue(
        raw, turns, id=f"{raw.split}-{number}" if raw.split else str(number), domain="restaurant"
    )


def _turns(entry: Any, acts: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    system, user = field(entry, "system_transcript", str), field(entry, "transcript", str)
    if system.strip():
        yield turn("system", system, acts=acts.get(system.strip()))
    labels = field(entry, "turn_label", list, default=[])
    values = [name_and_value(label, "turn_label") for label in labels]
    if user.strip():
        said = [value for value in values if value[0] != REQUEST]
        yield turn("user", user, slots=occurrences(user, said))

"""Frames: frames.json, a list of dialogues between a user and a wizard about travels.

https://www.microsoft.com/en-us/research/project/frames-dataset, Microsoft's own terms: no
redistribution. Published: 1,369 dialogues, 19,986 utterances (TOD-BERT, table 1). The values of
acts have no offsets and are marked where they stand in the text word for word.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, dialogue, field, items, known, occurrences, turn

SPEAKERS = {"user": "user", "wizard": "system"}

raw = items("frames.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue."""
    turns = [_turn(entry) for entry in field(raw.value, "turns", list)]
    return dialogue(raw, turns, id=field(raw.value, "id", str, default=None))


def _turn(entry: Any) -> dict[str, Any]:
    speaker = known(SPEAKERS, field(entry, "author", str), "author")
    text = field(entry, "text", str)
    acts = field(field(entry, "labels", dict, default={}), "acts", list, default=[])
    names = dict.fromkeys(field(act, "name", str) for act in acts)
    pairs = [
        (field(arg, "key", str), arg.get("val"))
        for act in acts
        for arg in field(act, "args", list, default=[])
    ]
    return turn(speaker, text, slots=occurrences(text, pairs), acts=list(names))

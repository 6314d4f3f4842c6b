"""M2M, simulated dialogues about movies and restaurants.

They are sim-M and sim-R (and sim-GEN), each with train, dev and test.json.
https://github.com/google-research-datasets/simulated-dialogue, no licence stated. Published: 3,008
dialogues (768 of sim-M, 2,240 of sim-R). A turn is the system's utterance (the first has none) and
the user's; offsets count tokens.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import (
    Raw,
    Unexpected,
    dialogue,
    field,
    items,
    slot,
    token_spans,
    turn,
)

raw = items("train.json", "dev.json", "test.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domain stands before the number in its id."""
    name = field(raw.value, "dialogue_id", str)
    turns = [
        _turn(
            speaker,
            field(entry, f"{speaker}_utterance", dict),
            field(entry, f"{speaker}_acts", list, default=[]),
        )
        for entry in field(raw.value, "turns", list)
        for speaker in ("system", "user")
        if speaker == "user" or field(entry, "system_utterance", dict, default=None)
    ]
    return dialogue(raw, turns, id=name, domain=name.partition("_")[0])


def _turn(speaker: str, entry: Any, acts: list[Any]) -> dict[str, Any]:
    text = field(entry, "text", str)
    slots: list[dict[str, Any]] = []
    places = token_spans(text, field(entry, "tokens", list))
    for mark in field(entry, "slots", list, default=[]):
        first, end = field(mark, "start", int), field(mark, "exclusive_end", int)
        if not 0 <= first < end <= len(places):
            raise Unexpected(f"slots: expected tokens of {len(places)}, found {first} to {end}")
        slots.append(slot(places[first][0], places[end - 1][1], field(mark, "slot", str)))
    return turn(
        speaker,
        text,
        slots=slots,
        acts=list(dict.fromkeys(field(act, "type", str) for act in acts)),
    )

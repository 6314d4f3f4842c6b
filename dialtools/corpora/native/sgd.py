"""Schema-Guided Dialogue: folders train, dev and test of dialogues_NNN.json.

Each file is a list of dialogues; slots are by character.
https://github.com/google-research-datasets/dstc8-schema-guided-dialogue, CC BY-SA 4.0. Published:
22,825 dialogues, 463,284 utterances (TOD-BERT, table 1).
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, dialogue, field, items, known, slot, strings, turn

SPEAKERS = {"USER": "user", "SYSTEM": "system"}

raw = items("dialogues_[0-9]*.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its id is that of the corpus with its split before it.

    The splits all count from 1.
    """
    name, domain = field(raw.value, "dialogue_id", str), " ".join(strings(raw.value, "services"))
    turns = [turn_of(entry) for entry in field(raw.value, "turns", list)]
    return dialogue(
        raw, turns, id=f"{raw.split}/{name}" if raw.split else name, domain=domain or None
    )


def turn_of(entry: Any) -> dict[str, Any]:
    """Return a turn with the slots and acts of its frames."""
    text = field(entry, "utterance", str)
    slots: list[dict[str, Any]] = []
    acts: dict[str, None] = {}  # in order, each once
    for frame in field(entry, "frames", list, default=[]):
        for mark in field(frame, "slots", list, default=[]):
            start = field(mark, "start", int, default=None)
            if start is not None:  # those without offsets are lists of values that stand nowhere
                end = field(mark, "exclusive_end", int)
                slots.append(slot(start, end, field(mark, "slot", str)))
        actions = field(frame, "actions", list, default=[])
        acts |= dict.fromkeys(field(action, "act", str) for action in actions)
    speaker = known(SPEAKERS, field(entry, "speaker", str), "speaker")
    return turn(speaker, text, slots=slots, acts=list(acts))

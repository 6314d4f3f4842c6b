"""ConvLab's unified format: data.zip of a data set with data/dialogues.json and data/ontology.json.

ConvLab-3's (`dialogue_acts`) or ConvLab-2's (`dialogue_act`).
https://github.com/ConvLab/ConvLab-3 (data/unified_datasets); licence and counts are those of each
data set. Offsets are in characters; values without them are no slots.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, dialogue, field, items, known, slot, strings, turn

SPEAKERS = {"user": "user", "system": "system"}
SPLITS = {"validation": "val"}

raw = items("dialogues.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; acts are `domain-intent`."""
    split = field(raw.value, "data_split", str, default=None)
    turns = [_turn(entry) for entry in field(raw.value, "turns", list)]
    named, domain = field(raw.value, "dialogue_id", str), " ".join(strings(raw.value, "domains"))
    return dialogue(
        raw._replace(split=SPLITS.get(split, split)), turns, id=named, domain=domain or None
    )


def _turn(entry: Any) -> dict[str, Any]:
    speaker = known(SPEAKERS, field(entry, "speaker", str), "speaker")
    text = field(entry, "utterance", str)
    named = "dialogue_acts" if "dialogue_acts" in entry else "dialogue_act"
    kinds = field(entry, named, dict, default=None)
    if kinds is None:
        return turn(speaker, text)
    acts = [act for kind in kinds for act in field(kinds, kind, list)]
    spans = [act for act in acts if field(act, "start", int, default=None) is not None]
    slots = [slot(act["start"], field(act, "end", int), _name(act, "slot")) for act in spans]
    return turn(
        speaker, text, slots=slots, acts=list(dict.fromkeys(_name(act, "intent") for act in acts))
    )


def _name(act: Any, what: str) -> str:
    return "-".join(filter(None, (field(act, "domain", str, default=""), field(act, what, str))))

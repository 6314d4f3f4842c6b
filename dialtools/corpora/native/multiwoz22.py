"""MultiWOZ 2.2: folders train, dev and test of dialogues_NNN.json as those of SGD.

dialog_acts.json lies beside them. https://github.com/budzianowski/multiwoz (data/MultiWOZ_2.2),
MIT. Published: 10,437 dialogues, 143,044 utterances. Without dialog_acts.json a folder cannot be
told from SGD and needs its name. Holds the acts and one file of dialogues.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native import sgd
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, dialogue, field, items, strings


def raw(files: Files) -> Iterator[Raw]:
    """Yield the dialogues with the acts of all, by name and turn."""
    acts: dict[str, Any] = {}
    for name in () if files.single else files.names("dialog_acts.json"):
        acts |= files.json_object(name, of="dialogues")
    for each in items("dialogues_[0-9]*.json")(files):
        yield each._replace(more=acts)


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; acts are such as Hotel-Inform."""
    named, domain = field(raw.value, "dialogue_id", str), " ".join(strings(raw.value, "services"))
    turns = [_turn(entry, raw.more.get(named)) for entry in field(raw.value, "turns", list)]
    return dialogue(raw, turns, id=named, domain=domain or None)


def _turn(entry: Any, acts: Any) -> dict[str, Any]:
    spoken = sgd.turn_of(entry)
    del spoken["acts"]  # the frames have none
    if acts is None:
        return spoken
    there = field(acts, field(entry, "turn_id", str), dict, default={})
    return spoken | {"acts": list(field(there, "dialog_act", dict, default={}))}

"""SMD, also KVRET: dialogues between a driver and an assistant.

The files are kvret_{train,dev,test}_public.json, lists of dialogues.
https://nlp.stanford.edu/blog/a-new-multi-turn-multi-domain-task-oriented-dialogue-dataset, no
licence stated. Published: 3,031 dialogues, 15,928 utterances (TOD-BERT, table 1). The assistant's
`slots` are values of the user turn before it, without offsets: they are marked where they stand in
it word for word.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, dialogue, field, items, known, occurrences, turn

SPEAKERS = {"driver": "user", "assistant": "system"}

raw = items("kvret_*_public.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domain is the scenario's intent."""
    scenario = field(raw.value, "scenario", dict)
    turns: list[dict[str, Any]] = []
    for entry in field(raw.value, "dialogue", list):
        data = field(entry, "data", dict)
        speaker = known(SPEAKERS, field(entry, "turn", str), "turn")
        if speaker == "system" and turns and turns[-1]["speaker"] == "user":
            turns[-1]["slots"] = occurrences(
                turns[-1]["text"], field(data, "slots", dict, default={})
            )
        turns.append(turn(speaker, field(data, "utterance", str)))
    intent = field(field(scenario, "task", dict, default={}), "intent", str, default=None)
    return dialogue(raw, turns, id=field(scenario, "uuid", str, default=None), domain=intent)

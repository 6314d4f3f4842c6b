"""CI-ToD: does the last utterance contradict what came before?

The files are {calendar,navigate,weather_new}_{train,dev,test}.json.
https://github.com/yizhen20133868/CI-ToD, MIT. Published: 2,553 / 319 / 318 dialogues. `qi`, `hi`
and `kbi`: the response is inconsistent with the question, with the history, with the table beside
the dialogue. Ids are not unique. A dialogue of one turn is a response to nothing.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from dialtools.corpora.native.raw import Raw, Unexpected, field, items, known, stated, turn

SPEAKERS = {"driver": "user", "assistant": "system"}
LABELS = ("qi", "hi", "kbi")
FLAGS = {"0": "0", "1": "1"}

raw = items("calendar_*.json", "navigate_*.json", "weather*_*.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a response and its history, with the three labels as numbers.

    `labels` are the names of those that hold.
    """
    scenario, spoken = field(raw.value, "scenario", dict), field(raw.value, "dialogue", list)
    turns = [
        turn(known(SPEAKERS, field(entry, "turn", str), "turn"), field(entry, "utterance", str))
        for entry in spoken
    ]
    if not turns:
        raise Unexpected("dialogue: expected a response, found no turn")
    subject, _, part = PurePosixPath(raw.where.name).name.partition(".")[0].rpartition("_")
    facts = {name: int(known(FLAGS, str(scenario.get(name)), name)) for name in LABELS}
    return {
        "id": f"{subject}-{part}-{field(raw.value, 'id', int)}",
        "domain": subject.partition("_")[0],
        "history": turns[:-1],
        "response": turns[-1]["text"],
        "kb": field(field(scenario, "kb", dict), "items", list, default=[]),
        **facts,
        "labels": [name for name, holds in facts.items() if holds],
    } | stated(split=raw.split)

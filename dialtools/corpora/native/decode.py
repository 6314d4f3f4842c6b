"""DECODE, contradictions in dialogues: {train,dev,test,human-bot,a2t,rct}.jsonl, a dialogue a line.

https://parl.ai/projects/contradiction (decode_v0.1.zip), no licence stated. Published: 27,184 /
4,026 / 4,216 dialogues, and the test sets human-bot 764, a2t 2,079 and rct 2,011.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from dialtools.corpora.native.raw import Raw, Unexpected, field, lines, stated, turn

GROUPS = ("train", "dev", "test", "human-bot", "a2t", "rct")
LABELS = {True: "contradiction", False: "non_contradiction"}

raw = lines(*(f"{group}.jsonl" for group in GROUPS))


def record(raw: Raw) -> dict[str, Any]:
    """Return the last utterance as a response to what came before.

    `evidence` are the turns that it contradicts.
    """
    turns = [
        turn(str(field(entry, "agent_id", int)), field(entry, "text", str))
        for entry in field(raw.value, "turns", list)
    ]
    if len(turns) < 2:
        raise Unexpected(f"turns: expected a history and a response, found {len(turns)}")
    label = LABELS[field(raw.value, "is_contradiction", bool)]
    evidence = field(raw.value, "aggregated_contradiction_indices", list, default=[])
    group = PurePosixPath(raw.where.name).name.partition(".")[0]
    return {
        "id": field(raw.value, "record_id", str),
        "history": turns[:-1],
        "response": turns[-1]["text"],
        "speaker": turns[-1]["speaker"],
        "label": label,
        "evidence": [place for place in evidence if place != len(turns) - 1],
        "group": group,
    } | stated(split=raw.split)

"""ABCD, the action-based conversations of a shop's agents and customers.

The file is abcd_v1.1.json, an object of three splits. https://github.com/asappresearch/abcd, MIT.
Published: 10,042 dialogues (8,034 / 1,004 / 1,004). Texts are those of `original`, `delexed` tells
the agents' actions. An action is no utterance: it is kept apart, with the number of turns before
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from dialtools.corpora.fields import json_kind
from dialtools.corpora.native.files import SPLITS, Files
from dialtools.corpora.native.raw import (
    Raw,
    Unexpected,
    dialogue,
    each_file,
    field,
    known,
    stated,
    turn,
)
from dialtools.streams.policy import Where

SPEAKERS = {"customer": "user", "agent": "system", "action": "action"}


@each_file("abcd_v1.*.json", "abcd_v1.*.json.gz")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the conversations of each split.

    Raises:
        DataError: if a file is no object of splits, each a list.
    """
    content = files.json(name)
    if not isinstance(content, dict) or not content.keys() & {"train", "dev", "test"}:
        kind = json_kind(content)
        files.fail(name, f"expected an object with train, dev and test, found {kind}")
    for part, conversations in content.items():
        if not isinstance(conversations, list):
            kind = json_kind(conversations)
            files.fail(name, f"{part}: expected a list of conversations, found {kind}")
        split = next((split for split, words in SPLITS.items() if part in words), None)
        place = f"{files.shown(name)}:{part}"
        for number, conversation in enumerate(conversations, 1):
            yield Raw(Where(place, number), split, conversation)


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue, its `actions` and its `subflow`, the customer's intent.

    Its domain is the flow.
    """
    scenario = field(raw.value, "scenario", dict, default={})
    turns: list[dict[str, Any]] = []
    actions: list[dict[str, Any]] = []
    for line, targets in zip_longest(
        field(raw.value, "original", list), field(raw.value, "delexed", list, default=[])
    ):
        speaker, text = _line(line)
        if speaker == "action":
            actions.append({"turn": len(turns), "text": text} | _action(targets))
        else:
            turns.append(turn(speaker, text))
    talk = dialogue(
        raw,
        turns,
        id=str(field(raw.value, "convo_id", int)),
        domain=field(scenario, "flow", str, default=None),
    )
    return talk | stated(subflow=field(scenario, "subflow", str, default=None), actions=actions)


def _line(line: Any) -> tuple[str, str]:
    match line:
        case [str(speaker), str(text)]:
            return known(SPEAKERS, speaker, "original: speaker"), text
    raise Unexpected("original: expected pairs of speaker and text")


def _action(line: Any) -> dict[str, Any]:
    """Return name and values of an action: the third and the fourth of its turn's targets."""
    targets = field(line, "targets", list, default=[]) if line else []
    return {"name": targets[2], "values": targets[3]} if len(targets) > 3 else {}

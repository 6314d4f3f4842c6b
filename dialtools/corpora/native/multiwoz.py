"""MultiWOZ 2.0 to 2.4: data.json maps a name to a dialogue.

A dialogue is {"goal", "log": [{"text", "metadata", "dialog_act", "span_info"}]}. valListFile and
testListFile beside it name the splits; or train.json, val.json and test.json have the same shape.
https://github.com/budzianowski/multiwoz, MIT. Published: 10,438 dialogues, 1,000 each of validation
and test (TOD-BERT, table 1: 10,420, with 71,410 turns of two utterances). Users begin, and speak
every other turn. Spans count words (the last one included) of texts that were split into words; in
texts that were not, their values are looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files, split_of_name
from dialtools.corpora.native.raw import (
    Raw,
    Unexpected,
    dialogue,
    each_file,
    field,
    occurrences,
    slot,
    token_spans,
    turn,
)

DOMAINS = ("attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train")
LISTS = {"valListFile": "val", "testListFile": "test"}
GLUED = re.compile(r"\w[.,?!](?=\s|$)|\b(?!n't\b)\w+'\w")
"""Of texts that are not split into words, where "here," and "don't" are two words each."""


@each_file("data.json", "train.json", "val.json", "dev.json", "test.json")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the dialogues of each file with their names.

    Those in neither list are of the training part.
    """
    held_out = {
        line.strip(): split for part, split in _lists(files, name) for _, line in files.lines(part)
    }
    content = files.json_object(name, of="dialogues")
    for number, (identity, item) in enumerate(content.items(), 1):
        split = held_out.get(identity, "train") if held_out else split_of_name(name)
        yield Raw(files.where(name, number), split, item, identity)


def _lists(files: Files, name: str) -> Iterator[tuple[str, str]]:
    """Yield the lists beside a file, and the split of which they name the dialogues."""
    for stem, split in LISTS.items():
        for part in (files.beside(name, stem + suffix) for suffix in (".txt", ".json", "")):
            if part:
                yield part, split


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domains are those of the user's goal."""
    goal = field(raw.value, "goal", dict, default={})
    turns = [
        _turn(entry, ("user", "system")[i % 2])
        for i, entry in enumerate(field(raw.value, "log", list))
    ]
    return dialogue(
        raw, turns, id=raw.more, domain=" ".join(d for d in DOMAINS if goal.get(d)) or None
    )


def _turn(entry: Any, speaker: str) -> dict[str, Any]:
    text, acts = field(entry, "text", str), field(entry, "dialog_act", dict, default=None)
    spans = field(entry, "span_info", list, default=None)
    return turn(
        speaker,
        text,
        slots=None if spans is None else slots_of(text, spans),
        acts=None if acts is None else list(acts),
    )


def slots_of(text: str, spans: list[Any]) -> list[dict[str, Any]]:
    """Return the slots, `domain-slot`, of spans [act, slot, value, first word, last word].

    The words there are the value; else the value is looked for in the text; else (one for 1, say)
    the words are believed, unless the text is not split into words as those of the spans were.
    """
    marked: list[dict[str, Any]] = []
    words = token_spans(text, text.split())
    for span in spans:
        match span:
            case [str(act), str(name), str(value), int(first), int(last)]:
                label = f"{act.partition('-')[0]}-{name}".lower()
            case _:
                expected = "[act, slot, value, first word, last word]"
                raise Unexpected(f"span_info: expected {expected}, found {str(span)[:80]}")
        there = (
            [slot(words[first][0], words[last][1], label)]
            if 0 <= first <= last < len(words)
            else []
        )
        if not there or _joined(text[there[0]["start"] : there[0]["end"]]) != _joined(value):
            there = occurrences(text, {label: value}) or ([] if GLUED.search(text) else there)
        marked += [each for each in there if each not in marked]
    return marked


def _joined(text: str) -> str:
    return "".join(text.lower().split())

"""MultiWOZ 2.2 as text: {train,dev,test}_dialogues_NNN.txt, an utterance a line.

[ ] stand around slot values. Two blank lines end a dialogue; users begin, and speak every other
line. github.com/budzianowski/multiwoz, MIT. Published: 10,437 dialogues, 143,044 utterances.
Brackets are no part of the text; of nested ones (there are a few, some without an end) the
outermost that is closed counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from dialtools.corpora.native.files import Files, split_of_name
from dialtools.corpora.native.raw import Raw, dialogue, slot, turn

BRACKET = re.compile(r"([\[\]])")


def raw(files: Files) -> Iterator[Raw]:
    """Yield the lines of each dialogue, and which it is of its split."""
    counted: dict[str | None, int] = {}
    for name in files.needed("*_dialogues_[0-9][0-9][0-9].txt"):
        with files.one_of_many():
            split = split_of_name(name)
            together = groupby(enumerate(files.lines(name)), lambda line: line[1][0] - line[0])
            for number, (_, group) in enumerate(together, 1):
                counted[split] = counted.get(split, -1) + 1
                texts = [text for _, (_, text) in group]
                yield Raw(files.where(name, number), split, texts, counted[split])


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; nothing says what its slots are, so they are called value."""
    turns = [_turn(line, ("user", "system")[i % 2]) for i, line in enumerate(raw.value)]
    return dialogue(raw, turns, id=f"{raw.split or 'all'}-{raw.more:05}")


def _turn(line: str, speaker: str) -> dict[str, Any]:
    text = ""
    slots: list[dict[str, Any]] = []
    opened: list[int] = []
    for part in BRACKET.split(line):
        if part == "[":
            opened.append(len(text))
        elif part == "]" and opened:
            start = opened.pop()
            before = [each for each in slots if each["start"] < start]  # the outermost stays
            slots = [*before, slot(start, len(text), "value")]
        elif part != "]":
            text += part
    return turn(speaker, text, slots=slots)

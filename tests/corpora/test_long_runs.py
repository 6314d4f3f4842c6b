"""Long runs of one character, which patterns that go back and forth would read for hours."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from dialtools.corpora.native.msr_e2e import VALUES
from dialtools.corpora.native.whatsapp import ADDED
from dialtools.corpora.plain import SPOKEN
from dialtools.corpora.times import number, rank
from dialtools.corpora.utterances import bracketed

MANY = 200_000


def finds(pattern: re.Pattern[str]) -> Callable[[str], Any]:
    return pattern.findall


def order(text: str) -> Any:
    return rank(text, None)


RUNS: dict[str, tuple[Callable[[str], Any], str]] = {
    "digits that are no number": (number, "1" * MANY + "x"),
    "blanks before no zone": (order, "12:00" + " " * MANY + "x"),
    "a bracket and blanks": (bracketed, "[" + " " * MANY),
    "brackets that nobody closes": (bracketed, "[a:" * MANY),
    "letters that are no slot": (finds(VALUES), "a" * MANY),
    "blanks before no mark": (finds(ADDED), " " * MANY + "x"),
    "a mark that never ends": (finds(ADDED), "<" + "edited" * MANY),
    "a name that never ends": (SPOKEN.fullmatch, "a " * MANY),
    "a time that never ends": (SPOKEN.fullmatch, "1 " * MANY),
}


@pytest.mark.parametrize("what", RUNS)
def test_long_runs_are_read_at_once(what: str):
    read, text = RUNS[what]
    began = process_time()
    read(text)
    assert process_time() - began < 1


def test_what_the_patterns_are_for_is_found():
    text, spans = bracketed("wake me [ time : nine am ] [ : ] on [day: monday]")
    assert text == "wake me nine am [ : ] on monday"
    assert [(text[s.start : s.end], s.label) for s in spans] == [
        ("nine am", "time"),
        ("monday", "day"),
    ]
    assert VALUES.findall("a=b; c = {d#e}; f = g h") == [
        ("a", "", "b"),
        ("c", "d#e", ""),
        ("f", "", "g h"),
    ]
    assert ADDED.sub("", "hi \u200e<This message was edited>") == "hi"
    assert [number(text) for text in (" 1 ", "1.", ".5e1", "1e-3 ", "1.5.", "")] == [
        *(1, 1.0, 5.0, 0.001),
        *(None, None),
    ]

"""Values of a whole dialogue: the same value is replaced by the same other one in all turns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple
from unicodedata import normalize

from dialtools.augment.book import key
from dialtools.augment.fill import Template, combinations, put, template
from dialtools.augment.items import Turn
from dialtools.corpora.utterances import Span
from dialtools.words import is_cut, is_unspaced, whole

SPARE = 4
"""Combinations tried for each asked for: some give two values one replacement, and are no use."""


class Ambiguous(ValueError):
    """A dialogue in which it is not clear what a value is."""


class Named(NamedTuple):
    """The entities of a dialogue, (label, value) each, and per turn where which of them stands."""

    entities: list[tuple[str, str]]
    marks: list[list[tuple[Span, int]]]


def named(turns: Sequence[Turn]) -> Named:
    """Return the entities of a dialogue and every mention of them, marked or not.

    Raises:
        Ambiguous: if a value has two types; if a mention cuts into another value; if a value
            without a letter (6), or of one Chinese character, stands somewhere without a mark: it
            may be anything.
    """
    number: dict[str, int] = {}
    entities: list[tuple[str, str]] = []
    for turn in turns:
        for span in turn.spans:
            value = turn.text[span.start : span.end]
            place = number.setdefault(key(value), len(entities))
            if place == len(entities):
                entities.append((span.label, value))
            elif entities[place][0] != span.label:
                raise Ambiguous(f"{value!r} is {entities[place][0]} and {span.label}")
    if not entities:
        return Named([], [[] for _ in turns])
    pattern = _either(value for _, value in entities)
    return Named(entities, [_mentions(turn, pattern, number, entities) for turn in turns])


def _either(values: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of whole words that is any of the values; the longest is tried first."""
    forms = {normalize(form, value) for value in values for form in ("NFC", "NFD")}
    return re.compile(whole(sorted(forms)), re.IGNORECASE)


def _mentions(
    turn: Turn, pattern: re.Pattern[str], number: dict[str, int], entities: list[tuple[str, str]]
) -> list[tuple[Span, int]]:
    """Return where entities stand in a turn, marked or not, and the number of each."""
    marks = [(span, number[key(turn.text[span.start : span.end])]) for span in turn.spans]
    for match in pattern.finditer(turn.text):
        start, end = match.span()
        if is_cut(turn.text, start, end):
            continue
        over = [span for span in turn.spans if span.start < end and start < span.end]
        if any(span.start <= start and end <= span.end for span in over):
            continue
        place = number.get(key(match[0]))
        if over or place is None or _may_be_anything(match[0]):
            raise Ambiguous(f"{match[0]!r} may be a value or not")
        marks.append((Span(start, end, entities[place][0]), place))
    return sorted(marks)


def _may_be_anything(value: str) -> bool:
    """Tell whether a value without a mark may be none: it has no letter, or is one that means."""
    return not any(map(str.isalpha, value)) or (len(value) == 1 and is_unspaced(value))


def variants(
    turns: Sequence[Turn],
    values: dict[str, list[str]],
    *,
    most: int | None,
    articles: bool,
    seed: int,
) -> Iterator[list[Turn]]:
    """Yield the turns of a dialogue with other values, each replaced everywhere.

    Two values are never replaced by one.

    Raises:
        Ambiguous: see `named`.
    """
    entities, marks = named(turns)
    old = [key(value) for _, value in entities]
    choices = [_choices(values.get(label, ()), value, old) for label, value in entities]
    sizes = [len(choice) for choice in choices]
    cuts = [_cut(turn, mark) for turn, mark in zip(turns, marks, strict=True)]
    made = 0
    for chosen in combinations(sizes, most, seed=seed, spare=SPARE):
        new = [choice[i] for choice, i in zip(choices, chosen, strict=True)]
        keys = [key(value) for value in new]
        if keys == old or len(set(keys)) < len(keys):
            continue
        yield [
            _put(turn, cut, new, articles=articles) if cut else turn
            for turn, cut in zip(turns, cuts, strict=True)
        ]
        made += 1
        if made == most:
            return


def _choices(values: Iterable[str], value: str, present: Collection[str]) -> list[str]:
    """Return what may take the place of a value: no other that the dialogue has, lest they mix."""
    others = [other for other in values if key(other) == key(value) or key(other) not in present]
    return others or [value]


class _Cut(NamedTuple):
    """A turn without its values: what is left, the values, and the number of each one's entity."""

    template: Template
    old: list[str]
    places: list[int]


def _cut(turn: Turn, marks: list[tuple[Span, int]]) -> _Cut | None:
    """Cut the entities out of a turn; None if it has none."""
    if not marks:
        return None
    spans = [span for span, _ in marks]
    old = [turn.text[span.start : span.end] for span in spans]
    return _Cut(template(turn.text, spans), old, [place for _, place in marks])


def _put(turn: Turn, cut: _Cut, new: Sequence[str], *, articles: bool) -> Turn:
    values = [new[place] for place in cut.places]
    text, at = put(cut.template, cut.old, values, articles=articles)
    return turn._replace(text=text, spans=at)

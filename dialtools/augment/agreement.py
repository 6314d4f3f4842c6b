"""A value that takes another's place keeps the case of the place; the article before it agrees."""

from __future__ import annotations

import re
from collections import Counter

from dialtools.words import lowered

SENTENCE = re.compile(r"(?:^|[.!?]\s+)[\"'(]*$")
ARTICLE = re.compile(r"(?:^|(?<=[^\w']))(a|an)(\s+[\"'(]?)$", re.IGNORECASE)
AN_DIGITS = re.compile(r"8\d*(?:[.,]\d{3})*(?!\d)|1[18](?:[.,]\d{3})*(?!\d)")
AN_LETTER = re.compile(r"[AEFHILMNORSX](?:[A-Z.\d-]|\b)")  # letters that are spelt: an MRI, an X
AN_LETTER_ALONE = re.compile(r"[aefhilmnorsx](?:[.\d-]|\b)")  # an x-ray
A_VOWEL = re.compile(
    r"(?:u(?:nanim|ni(?!n|m|de|dio|ron)|s[aeiu]|t[aeiou]|k[aeiour]|r[aeiou]|biq|ga|[.\d-]|\b)"
    r"|eu|ewe|onc?e(?:\b|s|_))",
    re.IGNORECASE,
)
AN_SILENT = re.compile(r"(?:hour|honest|honou?r|heir|hors d)", re.IGNORECASE)
CAPITALS = re.compile(r"[B-DF-HJ-NP-TV-Z][AEIOUY][A-Z]{2}|(?=[A-Z]*[AEIOU])[A-Z]{5}")
"""Begins a word, which is no row of letters that are spelt: NASA, HOTEL; not HDMI."""


def takes_an(value: str) -> bool:
    """Tell whether English says `an` before a value: by its sound, as far as its letters tell."""
    value = value.lstrip("\"'([“‘«")
    if value[:1].isdigit():
        return bool(AN_DIGITS.match(value))
    if CAPITALS.match(value):
        value = value.lower()
    if AN_SILENT.match(value) or AN_LETTER_ALONE.match(value):
        return True
    if value[:2].isupper() and AN_LETTER.match(value):
        return True
    return (
        value[:1].lower() in ("a", "e", "i", "o", "u")
        and not A_VOWEL.match(value)
        and not value[:2].isupper()
    )


class Heard:
    """Which articles stand before the values of a corpus, to tell whether they are English.

    `voy a Oslo` is Spanish, `Praha a Oslo` Czech, `Flug an Berta` German.
    """

    def __init__(self) -> None:
        self.counts = Counter[tuple[bool, bool]]()

    def add(self, before: str, value: str) -> None:
        """Count whether the article before a value, if any, is that which English has there."""
        if place := ARTICLE.search(before):
            an = takes_an(value)
            self.counts[an, (place[1].lower() == "an") == an] += 1

    @property
    def english(self) -> bool:
        """Whether most are right, those before vowels and those before the others; none are."""
        return all(self.counts[an, True] >= self.counts[an, False] for an in (True, False))


def with_article(before: str, old: str, new: str, *, upper: bool = False) -> str:
    """Return the text before a value with an article that agrees, if one agreed with the old.

    Args:
        upper: the utterance has capitals only, so that nothing tells how the old is spoken.
    """
    place = ARTICLE.search(before)
    if not place or (takes_an(new) == takes_an(old) and not upper):
        return before
    word = place[1]  # one that did not agree with the old value agrees with the new one
    article = "an" if takes_an(new) else "a"
    if upper or (word.isupper() and len(word) > 1):  # of A alone one cannot tell
        article = article.upper()
    elif word[0].isupper():
        article = article.capitalize()
    return before[: place.start(1)] + article + place[2]


def in_case(value: str, before: str, old: str, *, lower: bool, upper: bool) -> str:
    """Return a value in the case of its place.

    Args:
        before: the text before it.
        old: the value that stood there.
        lower, upper: the utterance has small letters only; capitals only.
    """
    if lower:
        return lowered(value)
    if upper:
        return value.upper()
    if old[:1].isupper() and value[:1].islower() and SENTENCE.search(before):
        return value[:1].upper() + value[1:]
    return value

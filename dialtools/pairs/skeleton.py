"""What is left of an answer without the names and numbers in it."""

from __future__ import annotations

import re
from functools import cache

from dialtools.words import combining_marks

_OPENS = frozenset(".?!:。！？।؟\n")
"""After these a sentence begins, whose first word has a capital without being a name."""
SLOT = "#"


@cache
def _piece() -> re.Pattern[str]:
    letters = rf"[^\W\d_]+(?:[{combining_marks()}]+[^\W\d_]*)*"
    return re.compile(rf"{letters}(?:['’]{letters})*|\d+|[{''.join(_OPENS)}]")


def skeleton(text: str) -> str:
    """Return the small-lettered words of a text, with one # for names and numbers in a row.

    A name is a word with a capital inside a sentence; the English I is none. Of a text in small
    letters only numbers go. Punctuation goes, too.
    """
    words: list[str] = []
    opening = True
    for piece in _piece().findall(text):
        if piece in _OPENS:
            opening = True
            continue
        word = SLOT if piece.isdigit() or (not opening and _is_name(piece)) else piece.lower()
        if not (word == SLOT and words[-1:] == [SLOT]):
            words.append(word)
        opening = False
    return " ".join(words)


def _is_name(word: str) -> bool:
    return word[0].isupper() and re.split("['’]", word)[0] != "I"

"""What is left of an answer without the names and numbers in it."""

from __future__ import annotations

import re

_PIECE = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|[.?!:。！？\n]")
_OPENS = frozenset(".?!:。！？\n")
"""After these a sentence begins, whose first word has a capital without being a name."""
SLOT = "#"


def skeleton(text: str) -> str:
    """Return the small-lettered words of a text, with one # for names and numbers in a row.

    A name is a word with a capital inside a sentence; the English I is none. Of a text in small
    letters only numbers go. Punctuation goes, too.
    """
    words: list[str] = []
    opening = True
    for piece in _PIECE.findall(text):
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

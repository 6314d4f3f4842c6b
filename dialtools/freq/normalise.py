"""What makes two texts one: the definition, a text at a time.

`columns` does whole columns, to the same end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from unicodedata import category
from unicodedata import normalize as unicode_form

from dialtools.words import lowered


class _Unpunctuated(dict[int, int | None]):
    """A table for str.translate that drops what Unicode calls punctuation."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if category(chr(code)).startswith("P") else code
        return self[code]


_UNPUNCTUATED = _Unpunctuated()

STEPS: dict[str, Callable[[str], str]] = {
    "case": lowered,
    "punct": lambda text: text.translate(_UNPUNCTUATED),
    "digits": partial(re.compile(r"\d+").sub, "0"),
    "form": partial(unicode_form, "NFC"),
    "space": lambda text: " ".join(text.split()),
}
"""The steps of --ignore, in the order in which they are applied: twice is no more than once."""

AS_WMDC = ("case", "form", "space")
"""Case and blanks do not matter, punctuation does: "yes." and "yes" are two (WMDC table 5).

Nor does whether a letter and its accent are one character, which nobody sees.
"""


def normalise(text: str, steps: Sequence[str]) -> str:
    """Return the text under which a text is counted, and is to be looked up."""
    for step in steps:
        text = STEPS[step](text)
    return text

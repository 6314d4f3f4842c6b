"""Words of a text in any script: what blanks part, and each character where a script has none."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

WORDS_BY = ("auto", "blanks", "characters")
_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff"  # iteration marks and zero, kana
    "\u3100-\u312f"  # bopomofo
    "\u31f0-\u31ff"  # more kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uff66-\uff9d"  # narrow kana
    "\U00020000-\U0003ffff"  # more Han
)
"""Characters of scripts that are written without blanks, as ranges of a pattern."""
_HANGUL = "\uac00-\ud7a3"
_LATIN = "0-9A-Z_a-z\xaa\xb2\xb3\xb5\xb9\xba\xbc-\xbe\xc0-\xd6\xd8-\xf6\xf8-\xff"


class _Patterns(NamedTuple):
    unspaced: re.Pattern[str]
    word: re.Pattern[str]
    run: re.Pattern[str]


@cache
def combining_marks() -> str:
    """Return combining marks, which belong to the letter before them; a pattern's \\w has none."""
    every = map(chr, range(0x300, 0x20D0))
    return "".join(mark for mark in every if unicodedata.category(mark) in ("Mn", "Mc"))


@cache
def _patterns() -> _Patterns:
    marks = combining_marks()
    character = f"[{_UNSPACED}][{marks}]*"
    return _Patterns(
        unspaced=re.compile(f"[{_UNSPACED}]"),
        word=re.compile(f"(?![{marks}]){character}|(?:[^\\W{_UNSPACED}]|[{marks}])+"),
        run=re.compile(f"[{_UNSPACED}{marks}]+|(?:[^\\W{_UNSPACED}]|[{marks}])+"),
    )


def lowered(text: str) -> str:
    """Return a text in small letters; that of the Turkish capital with a dot is a plain i."""
    return text.lower().replace("i\u0307", "i")


def count_words(text: str, by: str = "auto") -> int:
    """Return how many words a text has.

    Args:
        by: `blanks`: runs between blanks, as the papers' code counts; `characters`: all but
            blanks; `auto`: as blanks, but a run with characters of a script without blanks (Han,
            kana, Thai, ...) counts each of them, and each run of other letters and digits in it, as
            a word; its punctuation and emoji count nothing.
    """
    runs = text.split()
    if by == "characters":
        return sum(map(len, runs))
    if by == "blanks" or text.isascii() or not _patterns().unspaced.search(text):
        return len(runs)
    unspaced, word, _ = _patterns()
    return sum(len(word.findall(run)) if unspaced.search(run) else 1 for run in runs)


def index_terms(text: str) -> list[str]:
    """Return the lower-cased words of a text without punctuation, as a search index wants them."""
    return _patterns().word.findall(lowered(text))


def pair_terms(text: str) -> list[str]:
    """Return index terms, but of a script without blanks each two neighbours as one.

    A single character says little there; two are what most search indexes take for a word.
    """
    terms: list[str] = []
    for run in _patterns().run.findall(lowered(text)):
        words = _patterns().word.findall(run)
        pairs = [first + second for first, second in itertools.pairwise(words)]
        terms += pairs or words
    return terms


def whole(values: Iterable[str]) -> str:
    """Return a pattern of any of some values as whole words; the longest is tried first.

    In a script without blanks a word begins and ends anywhere; with Hangul it may end, since
    particles stand right behind it.
    """
    groups: dict[str, list[str]] = {}  # values that begin alike have the same border before them
    for words in sorted(filter(None, map(str.split, values)), key=lambda it: -len(" ".join(it))):
        before, after = _borders(words[0][0], words[-1][-1])
        groups.setdefault(before, []).append(r"\s+".join(map(re.escape, words)) + after)
    return "|".join(f"{before}(?:{'|'.join(each)})" for before, each in groups.items())


def _borders(first: str, last: str) -> tuple[str, str]:
    """Return patterns of what may stand before and behind a value.

    What is not ASCII may stand beside what is: it is Chinese, say. (A class of all that is written
    with blanks takes 20 ms to compile.)
    """
    before = (
        "" if is_unspaced(first) else f"(?-i:(?<![{_LATIN}]))" if first.isascii() else r"(?<!\w)"
    )
    if is_unspaced(last) or re.match(f"[{_HANGUL}]", last):
        return before, ""
    return before, f"(?-i:(?![{_LATIN}]))" if last.isascii() else r"(?!\w)"


def is_cut(text: str, start: int, end: int) -> bool:
    """Tell whether what stands there is part of a word: at a combining mark, or amid Hangul.

    A single syllable of a longer word of Hangul is part of it, too.
    """
    before, first, after = text[max(0, start - 1) : start], text[start:end], text[end : end + 1]
    marks, hangul = combining_marks(), re.compile(f"[{_HANGUL}]")
    if after and after in marks:
        return True
    if hangul.match(first):
        return bool(hangul.match(before) or (end - start == 1 and hangul.match(after)))
    return before != "" and before in marks and not is_unspaced(first)


def each_character() -> str:
    """Return a pattern of a character of a script without blanks, or with particles."""
    return f"[{_UNSPACED}{_HANGUL}]"


def is_unspaced(term: str) -> bool:
    """Tell whether a term is of a script that is written without blanks."""
    return bool(_patterns().unspaced.match(term))


def grown(term: str, texts: Iterable[str], *, share: float, longest: int) -> str:
    """Return a term of a script without blanks with the characters that mostly stand beside it.

    Args:
        texts: lower-cased.
        share: of the texts that have the term, those that must have the longer one.
        longest: how many characters that may have.
    """
    while len(term) < longest:
        texts = [text for text in texts if term in text]
        longer = Counter(itertools.chain(*(_longer(term, text) for text in texts)))
        best, times = max(longer.items(), key=lambda item: (item[1], item[0]), default=(term, 0))
        if times < share * len(texts) or best == term:
            break
        term = best
    return term.lstrip(combining_marks())


def _longer(term: str, text: str) -> Iterator[str]:
    """Yield a term where it is first in a text with the character before it, and that behind it."""
    start = text.index(term)
    end = start + len(term)
    if start and is_unspaced(text[start - 1]):
        yield text[start - 1 : end]
    if is_unspaced(text[end : end + 1]):
        yield text[start : end + 1]

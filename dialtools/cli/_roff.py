"""Text as roff (man macros), so that a page fits into the width of its reader's terminal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from dialtools import RELEASED, __version__


def roff(text: str) -> str:
    """Return text with what roff would take as its own escaped; `code` in bold."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    parts = escaped.split("`")
    line = "".join(f"\\fB{part}\\fR" if i % 2 else part for i, part in enumerate(parts))
    return f"\\&{line}" if line[:1] in (".", "'") else line


def literal(lines: Iterable[str]) -> list[str]:
    """Return lines that are shown as they stand, near the left edge so that long ones fit."""
    return [".PP", ".nf", ".in 2n", *map(roff, lines), ".in", ".fi"]


def prose(text: str) -> list[str]:
    """Return paragraphs, which are filled, and indented blocks, which are not."""
    page: list[str] = []
    for block in text.split("\n\n"):
        for indented, lines in groupby(block.splitlines(), lambda line: line.startswith("  ")):
            if indented:
                page += literal(line[2:] for line in lines)
            else:
                page += [".PP", *map(roff, lines)]
    return page


def definition(term: str, text: str) -> list[str]:
    """Return an entry of a list: the term, already roff, and the text below it."""
    return [".TP", term, roff(text)]


def bold(text: str) -> str:
    return f"\\fB{roff(text)}\\fR"


def italic(text: str) -> str:
    return f"\\fI{roff(text)}\\fR"


def titled(title: str, text: list[str], level: str = ".SH") -> list[str]:
    """Return a section of some text, which begins a paragraph by itself."""
    heading = f'"{roff(title)}"' if " " in title else roff(title)
    return [f"{level} {heading}", *text[text[:1] == [".PP"] :]]


def header(name: str, section: int) -> list[str]:
    """Return the head of a page; words are not cut, since many are names of flags."""
    return [
        f'.TH {roff(name.upper())} {section} "{RELEASED}" "dialtools {__version__}" "dialtools"',
        ".nh",
        ".ad l",
    ]

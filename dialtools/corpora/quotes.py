"""What an e-mail quotes of those before it, and what is new in it."""

from __future__ import annotations

import re

QUOTED = re.compile(r"^[ \t]*>", re.MULTILINE)
"""How a line begins that is quoted."""
RULE = re.compile(r"[ \t]*(?:-{2,} ?[^\s-][^-]{0,40}-{2,}|_{10,})[ \t\r]*")
"""`-----Original Message-----`, in any language, and Outlook's line above what it quotes."""

UNSEEN = " \t\r\xa0\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
"""Blanks and marks of direction, as Hebrew and Arabic have them, at the end of a heading."""
DATED = re.compile(r"\d:\d\d|(?<!\d)(?:19|20)\d\d(?!\d)")
"""What a text has that tells a time or a date, in whatever words."""
HEADING_LINES = 5


def unquoted(text: str) -> str:
    """Return a text without what it quotes, with the lines that say of whom it is.

    That is the lines that begin with `>`, and all below a rule.
    """
    kept: list[str] = []
    within = False  # a heading stands above the first line of a quote alone
    for line in text.split("\n"):
        if RULE.fullmatch(line):
            break
        quoted = QUOTED.match(line) is not None
        if not quoted:
            kept.append(line)
        elif not within:
            _drop_heading(kept)
        within = quoted or (within and not line.strip())
    return "\n".join(kept).strip()


def _drop_heading(kept: list[str]) -> None:
    """Take off lines such as `On 1 May 2024 at 9:00, Kim Lee <kim@x.org> wrote:`."""
    _drop_blank_lines(kept)
    if kept and kept[-1].rstrip(UNSEEN).endswith((":", "：")):
        del kept[-_lines_of_heading(kept) :]
        _drop_blank_lines(kept)


def _drop_blank_lines(kept: list[str]) -> None:
    while kept and not kept[-1].strip():
        kept.pop()


def _lines_of_heading(kept: list[str]) -> int:
    """Return how many of the last lines are a heading: up to the date, if an address is there."""
    for count in range(1, min(HEADING_LINES, len(kept)) + 1):
        heading = kept[-count:]
        if not heading[0].strip():
            break
        whose = "@" in "".join(heading) or (count == 2 and not re.search(r"\d", heading[1]))
        if DATED.search(heading[0]) and (count == 1 or whose):
            return count
    return 1

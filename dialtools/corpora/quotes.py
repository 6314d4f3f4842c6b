"""What an e-mail quotes of those before it, its signature, and what is new in it."""

from __future__ import annotations

import re
from itertools import takewhile

QUOTED = re.compile(r"^[ \t]*>", re.MULTILINE)
"""How a line begins that is quoted."""
RULE = re.compile(r"[ \t]*(?:-{2,} ?[^\s-][^-]{0,40}-{2,}|_{10,})[ \t\r]*")
"""`-----Original Message-----`, in any language, and Outlook's line above what it quotes."""

SIGNED = re.compile(r"--[ \t\r]*")
"""The line above a signature (RFC 3676); many programs take off its blank."""
SENDER = re.compile(
    r"[ \t]*\*?(?:From|Von|De|Da|Van|Från|Fra|Od|От|Kimden|发件人|寄件者|差出人)\*?[ \xa0]?[:：]",
    re.I,
)
FIELD = re.compile(r"[^:：\n]{1,20}[:：].*\S.*")
"""A line such as `Sent: Monday`, of those that Outlook has above what it quotes."""
FEWEST_FIELDS = 3

UNSEEN = " \t\r\xa0\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
"""Blanks and marks of direction, as Hebrew and Arabic have them, at the end of a heading."""
DATED = re.compile(r"\d:\d\d|(?<!\d)(?:19|20)\d\d(?!\d)")
"""What a text has that tells a time or a date, in whatever words."""
HEADING_LINES = 5


def unquoted(text: str) -> str:
    """Return a text without what it quotes, with the lines that say of whom it is.

    That is the lines that begin with `>`, and all below a rule, the head of another e-mail or the
    line of a signature that something stands above.
    """
    kept: list[str] = []
    within = False  # a heading stands above the first line of a quote alone
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if RULE.fullmatch(line) or _is_head(lines[number : number + HEADING_LINES]):
            break
        if SIGNED.fullmatch(line) and any(map(str.strip, kept)):
            break
        quoted = QUOTED.match(line) is not None
        if not quoted:
            kept.append(line)
        elif not within:
            _drop_heading(kept)
        within = quoted or (within and not line.strip())
    return "\n".join(kept).strip()


def _is_head(lines: list[str]) -> bool:
    """Tell whether lines begin with who sent an e-mail, an address and a time among the next."""
    if not SENDER.match(lines[0]):
        return False
    head = "\n".join(takewhile(FIELD.fullmatch, lines))
    return head.count("\n") + 1 >= FEWEST_FIELDS and "@" in head and DATED.search(head) is not None


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

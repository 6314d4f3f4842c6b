"""What an e-mail quotes of those before it, and what is new in it."""

from __future__ import annotations

import re

QUOTED = re.compile(r"^[ \t]*>", re.MULTILINE)
"""How a line begins that is quoted."""
RULE = re.compile(r"[ \t]*(?:-{2,} ?[^\s-][^-]{0,40}-{2,}|_{10,})[ \t]*")
"""`-----Original Message-----`, in any language, and Outlook's line above what it quotes."""


def unquoted(text: str) -> str:
    """Return a text without what it quotes, with the line or two that say of whom it is.

    That is the lines that begin with `>`, and all below a rule.
    """
    kept: list[str] = []
    for line in text.split("\n"):
        if RULE.fullmatch(line):
            break
        if not QUOTED.match(line):
            kept.append(line)
        elif kept:
            _drop_heading(kept)
    return "\n".join(kept).strip()


def _drop_heading(kept: list[str]) -> None:
    """Take off lines such as `On 1 May 2024 at 9:00, Kim Lee <kim@x.org> wrote:`."""
    while kept and not kept[-1].strip():
        kept.pop()
    if kept and kept[-1].rstrip().endswith(":"):
        heading = kept.pop()
        if kept and not re.search(r"\d", heading) and re.search(r"\d\d:\d\d|\d{4}", kept[-1]):
            kept.pop()

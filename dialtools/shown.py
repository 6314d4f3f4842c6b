"""Text of strangers where a person sees it: on one line, short, and without what steers a terminal.

Names of files and columns, labels, keys and values come from anywhere. The few places where text
leaves for a terminal call `printable`; messages elsewhere say what they have to say. A message
that quotes a value calls `quoted`, so that none is as long as what it complains of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

QUOTED = 60
"""Characters of a value that a message quotes."""
NAMED = 8
"""Names that a message lists."""
LONGEST = 2000
"""Characters of a message, whatever is in it."""

STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: they move the cursor, set titles and colours
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of the text after them
    "\u2028\u2029"  # end a line
    "\ufffe\uffff"  # no characters: no XML may hold them
    "\ud800-\udfff]"  # halves of characters, which no terminal has bytes for
)


def printable(text: str, most: int | None = None) -> str:
    r"""Return a text on one line, with `\x1b`-like escapes for what would steer a terminal.

    Args:
        most: characters; what is longer loses its middle.
    """
    if most is not None and len(text) > most:
        text = f"{text[: most // 2]} ... {text[-(most // 2) :]}"
    return STEERING.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file's name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return found[0].encode("unicode_escape").decode()


def printable_lines(blob: bytes) -> bytes:
    r"""Return JSON lines that say the same, with `\u009b` for what would steer a terminal."""

    def escape(found: re.Match[str]) -> str:
        return found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}"

    return STEERING.sub(escape, blob.decode("utf-8", "surrogateescape")).encode()


def cut(text: str, length: int = QUOTED) -> str:
    """Return what a message tells of a text: all of it, or how it begins."""
    return text if len(text) <= length else f"{text[:length]}..."


def quoted(value: object) -> str:
    """Return a value between quotes, cut where it is long; numbers and lists go without quotes."""
    if isinstance(value, str):
        return repr(value[:QUOTED]) + ("..." if len(value) > QUOTED else "")
    return cut(repr(value))


def listed(names: Iterable[str], most: int = NAMED, length: int = QUOTED) -> str:
    """Return names joined by commas, the first few of them where two or more are left out.

    Args:
        most: names, where more are left out.
        length: characters of a name.
    """
    every = [cut(name, length) or '""' for name in names]
    more = len(every) - most
    return ", ".join(every) if more < 2 else f"{', '.join(every[:most])} and {more:,} more"


def first_line(error: BaseException) -> str:
    """Return the first line of what an error of a library says, or its kind if it says nothing.

    A line that ends with a colon says nothing without the next.
    """
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    return " ".join(lines[: 1 + lines[0].endswith(":")])


def duration(seconds: float) -> str:
    """Return a time that a person reads at a glance: `40 s`, `12 min`, `3.1 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def shape_of(shape: Sequence[int]) -> str:
    """Return the shape of a tensor as it is told."""
    return "x".join(map(str, shape)) or "one number"

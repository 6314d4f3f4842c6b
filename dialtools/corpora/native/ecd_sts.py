"""The similarity sets of ECD and JDDC, in Chinese: dev/sts.txt and test/sts.txt.

A line is a score and two texts. https://github.com/wangruicn/DialogueCSE, Apache-2.0. Published:
ECD 500 / 1,000 pairs, JDDC 1,000 / 2,000.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dialtools.corpora.native.raw import Raw, Unexpected, stated, text_lines
from dialtools.streams.ecd import sts

raw = text_lines("sts.txt")


def record(raw: Raw) -> dict[str, Any]:
    """Return two texts and their score."""
    return of_line(raw, sts)


def of_line(raw: Raw, read: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """Return the record of a line, and its split if that is known."""
    try:
        return read(raw.value) | stated(split=raw.split)
    except ValueError as error:
        raise Unexpected(str(error)) from None

"""The retrieval sets of ECD and JDDC: dev/select.txt and test/select.txt.

A line is a query with ids of its split. https://github.com/wangruicn/DialogueCSE, Apache-2.0.
Published: ECD 2,373 / 4,243 queries, JDDC 2,094 / 6,970.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.ecd_sts import of_line
from dialtools.corpora.native.raw import Raw, text_lines
from dialtools.streams.ecd import select

raw = text_lines("select.txt")


def record(raw: Raw) -> dict[str, Any]:
    """Return a query, its topic and the ids of its positives and negatives."""
    return of_line(raw, select)

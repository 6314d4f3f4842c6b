"""HTML to what a reader sees of it; lxml is imported where there is markup to read."""

from __future__ import annotations

import re

from dialtools.corpora.fields import BadRecord

BLOCK = re.compile(
    r"address|article|blockquote|br|dd|div|dl|dt|figcaption|footer|form|h[1-6]|header|hr|li|ol"
    r"|option|p|pre|section|table|tr|ul"
)
CELLS = frozenset({"td", "th"})
UNREAD = frozenset({"script", "style", "template", "title"})
QUOTE = "blockquote"
EMOJI = "emoji"
"""A tag of Teams, and how the type of its pictures ends: `alt` is the character."""
MOST_TAGS = 20_000
"""The parser's time grows with the square of the tags that nobody closed: 0.1 s for so many."""


def seen(html: str) -> str:
    """Return what a reader sees of HTML, a line a block; `> ` stands before what it quotes.

    Raises:
        BadRecord: if it has more tags than a message would.
    """
    if "<" not in html and "&" not in html:
        return html
    if (tags := html.count("<")) > MOST_TAGS:
        raise BadRecord(f"HTML with {tags:,} tags: at most {MOST_TAGS:,} are read of a text")
    from lxml.etree import HTMLParser

    parser = HTMLParser(target=_Seen(), encoding="utf-8")
    parser.feed(html.encode("utf-8", "replace"))
    rows = (" ".join(row.split()) for row in parser.close().split("\n"))
    return "\n".join(row for row in rows if row)


class _Seen:
    """Gathers the text between tags."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.unread = self.quoted = 0
        self.begins = True

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.unread += tag in UNREAD
        self.quoted += tag == QUOTE
        self._border(tag)
        if tag == EMOJI or attributes.get("itemtype", "").lower().endswith(f"/{EMOJI}"):
            self.data(attributes.get("alt", ""))

    def end(self, tag: str) -> None:
        self.unread -= tag in UNREAD
        self.quoted -= tag == QUOTE
        self._border(tag)

    def data(self, text: str) -> None:
        if self.unread:
            return
        said = bool(text.strip())
        self.parts += ["> "] * (self.begins and said and self.quoted > 0)
        self.parts.append(text.replace("\n", " "))
        self.begins = self.begins and not said

    def close(self) -> str:
        return "".join(self.parts)

    def _border(self, tag: str) -> None:
        if BLOCK.fullmatch(tag):
            self.parts.append("\n")
            self.begins = True
        elif tag in CELLS:
            self.parts.append(" ")

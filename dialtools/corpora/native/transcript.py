"""Transcripts of meetings as text: a line of who speaks and when, and below it what is said.

Otter, Rev and Teams write `Kim Lee  0:03`, `Kim Lee (00:03):` or, from Gong, `0:03 | Kim Lee`. A
file is a dialogue, what stands below such a line a turn, its time in seconds from the start. What
stands above the first is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, each_file
from dialtools.corpora.native.talk import Talk, title

CLOCK = r"\d{1,3}:\d\d(?::\d\d)?"
HEADING = re.compile(
    rf"(?P<who>[^\s:|][^:|]{{0,59}}?)(?:\s{{2,}}|\t|\s*(?=[(\[]))[(\[]?(?P<at>{CLOCK})[)\]]?:?\s*"
    rf"|(?P<then>{CLOCK})\s*\|\s*(?P<name>[^\s:|][^:|]{{0,59}}?)\s*"
)


@each_file("*.txt")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the lines of each file; `more` is its name."""
    yield Raw(files.where(name, 1), None, [line for _, line in files.lines(name)], title(name))


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue."""
    talk = Talk()
    who, at, said = None, 0, list[str]()
    for line in (*raw.value, None):
        heading = HEADING.fullmatch(line) if line is not None else None
        if line is not None and not heading:
            said.append(line.strip())
            continue
        if who:
            talk.say(who, " ".join(said), time=at)
        if heading:
            who, at, said = heading["who"] or heading["name"], _seconds(heading), []
    return talk.record(id=raw.more)


def _seconds(heading: re.Match[str]) -> int:
    seconds = 0
    for part in (heading["at"] or heading["then"]).split(":"):
        seconds = 60 * seconds + int(part)
    return seconds

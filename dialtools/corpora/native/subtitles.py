"""Subtitles and transcripts of meetings: WebVTT (Teams, Zoom, Meet) and SubRip (.srt).

A file is a dialogue, a cue a turn, its time in seconds from the start; a cue whose lines begin with
dashes has a turn a dash. A line that rolls on from one cue to the next (YouTube's captions) is said
once. Speakers are those of `<v Kim>`; else, where most cues begin so, of
`Kim: hello`. Marks of style are left out.
https://www.w3.org/TR/webvtt1.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, each_file
from dialtools.corpora.native.talk import Talk, title
from dialtools.corpora.plain import MOST, SEVERAL, SPOKEN
from dialtools.streams.chunks import decode

CLOCK = r"(?:(\d{1,4}):)?(\d\d):(\d\d)[.,](\d{3})"
TIMES = re.compile(rf"\s*{CLOCK}\s+-->\s+(?:\d{{1,4}}:)?\d\d:\d\d[.,]\d{{3}}(?:\s.*)?")
ANOTHER = re.compile(r"(?=<v[.\s])|^\s*[-–](?![-–\d])\s*", re.MULTILINE)
"""Where somebody else begins to speak."""
VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>|</v>")
STYLE = re.compile(r"</?(?!v[\s.>])(?:[a-z]+|\d\d)[^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)
ROWS = 4
"""So many lines of captions roll at most."""

Cue = tuple[float, str]
"""When it begins, in seconds, and what stands there."""


@each_file("*.vtt", "*.srt")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the cues of each file; `more` is its name."""
    cues = [cue for block in _blocks(files, name) if (cue := _cue(block))]
    yield Raw(files.where(name, 1), None, cues, title(name))


def _blocks(files: Files, name: str) -> Iterator[list[str]]:
    """Yield the lines between blank lines."""
    lines = files.read(name).replace(b"\r", b"").split(b"\n")
    for spoken, block in groupby(enumerate(lines, 1), key=lambda line: bool(line[1].strip())):
        if spoken:
            read = (decode(line, files.where(name, n), files.policy) for n, line in block)
            yield [line for line in read if line]


def _cue(block: list[str]) -> Cue | None:
    """Return the cue of a block; a heading, a note or a style is none."""
    for place, line in enumerate(block[:2]):  # a number or a name may stand before the times
        if match := TIMES.fullmatch(line):
            hours, minutes, seconds, thousandths = (int(part or 0) for part in match.groups())
            start = hours * 3600 + minutes * 60 + seconds + thousandths / 1000
            return start, "\n".join(block[place + 1 :])
    return None


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue.

    Raises:
        Unexpected: of a file without cues.
    """
    if not raw.value:
        raise Unexpected("expected cues (00:00:01.000 --> 00:00:02.000, and a text), found none")
    parts = [(start, part) for start, text in _once(raw.value) for part in ANOTHER.split(text)]
    spoken = [(start, *_voice(part)) for start, part in parts if part.strip()]
    named = sum(who is None and SPOKEN.fullmatch(text) is not None for _, who, text in spoken)
    talk = Talk()
    for start, who, text in spoken:
        said = SPOKEN.fullmatch(text) if named >= max(SEVERAL, MOST * len(spoken)) else None
        who, text = (said["called"], said["text"]) if said and not who else (who, text)
        talk.say(who, text, time=start)
    return talk.record(id=raw.more)


def _once(cues: list[Cue]) -> list[Cue]:
    """Return cues without marks of style and, where most roll, without lines of the one before."""
    said = [(start, rows) for start, text in cues if (rows := _rows(text))]
    known = [_rolled(before, now) for (_, before), (_, now) in pairwise([(0.0, []), *said])]
    on = sum(0 < n < len(rows) for n, (_, rows) in zip(known, said, strict=True))
    rolls = on >= SEVERAL and 2 * sum(map(bool, known)) > len(said)
    return [(at, "\n".join(rows[n * rolls :])) for n, (at, rows) in zip(known, said, strict=True)]


def _rows(text: str) -> list[str]:
    return [row for line in STYLE.sub("", text).split("\n") if (row := line.strip())]


def _rolled(before: list[str], now: list[str]) -> int:
    """Return with how many of the last lines of a cue the next one begins."""
    rows = range(min(len(before), len(now), ROWS), 0, -1)
    return next((n for n in rows if before[-n:] == now[:n]), 0)


def _voice(text: str) -> tuple[str | None, str]:
    """Return who speaks, if that is marked, and the text without marks, on one line."""
    voice = VOICE.search(text)
    who = html.unescape((voice and voice[1]) or "").strip()
    return who or None, " ".join(html.unescape(VOICE.sub("", text)).split())

"""IRC as its clients log it: energymech, mIRC and ZNC, irssi, HexChat, WeeChat.

    [12:34:56] <kim> hello                        energymech, mIRC, ZNC
    12:34 <@kim> hello                            irssi
    Jan 01 12:34:56 <kim> hello                   HexChat
    2024-01-01 12:34:56<tab>@kim<tab>hello        WeeChat
    [2024-01-01T12:34:56.789Z] <kim> hello        The Lounge

A day is a dialogue, by dates in the lines, lines that tell of a new day, or the file's name. Joins,
other notices, and what people do (/me) rather than say are no turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, each_file
from dialtools.corpora.native.talk import NOTICES, Talk, title

WEECHAT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?)\t([^\t]*)\t(.*)")
LINE = re.compile(
    r"\[?(?:(\d{4}-\d\d-\d\d)[ T]|([A-Z][a-z]{2} \d\d) )?(\d\d:\d\d(?::\d\d)?)"
    r"(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?\s(.*)",
    re.DOTALL,
)
ISO, WRITTEN = "%Y-%m-%d", "%b %d %Y"
HALF_A_YEAR = timedelta(days=182)
SAID = re.compile(r"<[ @+%&~!]?([^<>\s]+)>\s(.*)", re.DOTALL)
NO_NICKS = ("", "-->", "<--", "--", "=!=", "*")
ANOTHER_DAY = re.compile(
    r"(?:--- (?:Log opened|Day changed)|\*\*\*\* BEGIN LOGGING AT|Session (?:Start|Time):)\s"
    r"\w{3} (\w{3}) +(\d{1,2}) (?:[\d:]+ )?(\d{4})"
)
NAMED = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)")
CODES = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|[\x02\x04\x0f\x11\x16\x1d-\x1f]")
"""Colours, bold and the like."""


class Line(NamedTuple):
    """A line of a log: who said what; nobody, if it is a notice."""

    time: str
    speaker: str | None
    text: str


@each_file("*.log", "*.weechatlog", "*.txt")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the lines of each day; `more` is the log's name, and the day if it is known."""
    called, day = title(name), _named_day(Path(name).name)
    held: list[Line] = []
    first = 1
    for number, text in files.lines(name):
        changed = ANOTHER_DAY.match(text)
        dated, line = (_date(" ".join(changed.groups())), None) if changed else _line(text, day)
        if dated and dated != day:
            if held:
                yield Raw(files.where(name, first), None, held, (called, day))
            day, held, first = dated, [], number
        if not changed and line:
            held.append(line)
        elif not changed and not text.startswith(("---", "***", "===", "Session ")):
            reason = "expected a time, and who says what"
            files.policy.reject(files.where(name, number), reason, text.encode())
    if held:
        yield Raw(files.where(name, first), None, held, (called, day))


def _named_day(name: str) -> str | None:
    match = NAMED.search(name)
    return _date("-".join(match.groups()), ISO) if match else None


@lru_cache
def _date(text: str, form: str = WRITTEN) -> str | None:
    """Return a date in ISO 8601; None if there is no such day."""
    try:
        return datetime.strptime(text, form).date().isoformat()
    except ValueError:
        return None


def _near(day: str | None, month_and_day: str) -> str | None:
    """Return the date of a month and day, in the year of a day before or, in January, the next."""
    if day is None:
        return None
    before = date.fromisoformat(day)
    for year in (before.year, before.year + 1):
        near = _date(f"{month_and_day} {year}")
        if near and before - date.fromisoformat(near) <= HALF_A_YEAR:
            return near
    return None


def _line(text: str, day: str | None) -> tuple[str | None, Line | None]:
    """Return date and content of a line, if it has any; the day before it tells the year."""
    if tabbed := WEECHAT.fullmatch(text):
        dated, time, nick, said = tabbed.groups()
        nick = nick.strip().lstrip("@+%&~!")
        return _date(dated, ISO), Line(time, None if nick in NO_NICKS else nick, said)
    match = LINE.fullmatch(text)
    if not match:
        return None, None
    dated, month_and_day, time, rest = match.groups()
    dated = _near(day, month_and_day) if month_and_day else dated and _date(dated, ISO)
    said = SAID.fullmatch(rest.lstrip())
    return dated, Line(time, said[1], said[2]) if said else Line(time, None, rest)


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; turns have a time if the day is known."""
    name, day = raw.more
    talk = Talk()
    for line in raw.value:
        if line.speaker is None:
            talk.leave(NOTICES)
        else:
            time = f"{day}T{line.time}" if day else None
            talk.say(line.speaker, CODES.sub("", line.text), time=time)
    return talk.record(id=name if day in (None, _named_day(name)) else f"{name}/{day}")

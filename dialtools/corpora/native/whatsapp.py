"""WhatsApp's export of a chat: `WhatsApp Chat with NAME.txt`, or _chat.txt from an iPhone.

    12/31/24, 10:05 PM - Kim: see you             Android, American English
    31.12.24, 22:05 - Kim: bis dann               Android, German
    [31/12/2024, 22:05:33] Kim: see you           iPhone
    [31.12.2024 klo 22.05.33] Kim: nähdään        the same, Finnish; kl. in Danish
    [10:05:33 CH, 31/12/2024] Kim: chào           the same, Vietnamese
    2024/12/31 下午10:05 - Kim: 再见              Android, Chinese; alike in Japanese, Korean
    31/12/2024، 10:05 م - Kim: ...                Android, Arabic; with marks of direction

A chat is a dialogue; speakers have their names. Lines without a date go on with the message before,
and so do those that another phone wrote: copies of messages that somebody sends on.
Lines without a name and what the app itself writes in place of media are no turns. Day or month
first is told by most numbers above 12 in the file; else it is the day, but for `/` with AM, PM (am
and p. m. stand elsewhere). Buddhist years are ours less 543. A message has no time if its calendar
is another one, or if words that nobody knows, by a table or by an hour above 12, may tell its half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.corpora.catalog import WORD
from dialtools.corpora.dialogues import WITHOUT_TEXT
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import FACTS, UNTIMED, Raw, Unexpected, each_file
from dialtools.corpora.native.talk import NOTICES, Talk, stem

MESSAGE = re.compile(r"[\u200e\u200f]?(\[)?(.{8,60}?)(?(1)\]| [-–])\s(.*)", re.DOTALL)
"""Date and time, then who says what."""
DATE = (
    r"(?P<first>\d{1,4})(?P<separator>[./-])\s?(?P<second>\d{1,2})(?P=separator)\s?"
    r"(?P<third>\d{1,4})\.?"
)
TIME = r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<seconds>\d\d))?"
HEADS = tuple(
    re.compile(rf"{head}(?P<after>(?:\s?{WORD}){{0,2}})")
    for head in (
        rf"{DATE}[,،\s]+(?P<before>(?:{WORD}[,،\s]*){{0,2}}){TIME}",
        rf"{TIME}(?P<before>(?:\s{WORD})?)[,\s]+{DATE}",
    )
)
"""Words may stand around a time; in Vietnamese the date is last."""
SPOKEN = re.compile(r"([^:\"“”«»]{1,80}?): ?(.*)", re.DOTALL)
MORNING = (
    "am a ص 上午 凌晨 清晨 早上 午前 오전 새벽 아침 पूर्वाह्न முற்பகல் ಪೂರ್ವಾಹ್ನ පෙ.ව. ق.ظ SA ÖÖ π.μ. "
    "пр.об. дп ү.ө. претпл. לפנה״צ de fm vm ap dop PG TO p.d. priešpiet priekšp ጥዋት "
    "ກ່ອນທ່ຽງ ก่อนเที่ยง"
)
AFTERNOON = (
    "pm p م 下午 中午 晚上 午後 오후 저녁 अपराह्न பிற்பகல் ಅಪರಾಹ್ನ ප.ව. ب.ظ CH ÖS μ.μ. сл.об. "
    "пп ү.х. попл. אחה״צ du em nm ip odp pop PTG TK m.d. popiet pēcp ከሰዓት "
    "ຫຼັງທ່ຽງ หลังเที่ยง"
)
NEITHER = "m klo kl à às at um kell uhr h г ч น"
"""Words beside the time of 24 hours, and the second one of `p. m.`."""
HALVES = {
    word: half
    for words, half in ((MORNING, "am"), (AFTERNOON, "pm"), (NEITHER, ""))
    for word in words.replace(".", "").casefold().split()
}
DIRECTIONS = dict.fromkeys(map(ord, "\u200e\u200f"))
YEARS = range(2009, 2052)
"""From the app's first one on; the Buddhist ones of two digits are those from 52."""
BUDDHIST = 543
MEDIA = re.compile(r"<[^<>]+>|null")
ATTACHED = re.compile(r"\A\u200e?[A-Z]{3}-\d{8}-WA\d{4,}\.\w{2,5} \([^()\n]+\)\n?")
"""A file that goes with a message: its caption stands below."""
EDITED = "edited|bearbeitet|editó|editada|modifi|bewerkt"
ADDED = re.compile(
    rf"(?<!\s)\s*+(?:\u200e?<[^<>]{{0,99}}(?:{EDITED})[^<>]{{0,99}}>|\u200e<[^<>]{{1,199}}>)$"
)
"""What the app adds to a text: that it was edited, or the name of a file."""
DELETED = frozenset(
    (
        *("This message was deleted", "You deleted this message"),
        *("Diese Nachricht wurde gelöscht", "Du hast diese Nachricht gelöscht"),
        *("Se eliminó este mensaje", "Eliminaste este mensaje"),
        *("Ce message a été supprimé", "Vous avez supprimé ce message"),
        *("Questo messaggio è stato eliminato", "Hai eliminato questo messaggio"),
        *("Mensagem apagada", "Você apagou esta mensagem"),
        *("Dit bericht is verwijderd", "U hebt dit bericht verwijderd"),
    )
)
"""What Android writes in place of a message, where an iPhone puts a mark before it."""
MARK = "\u200e"
"""Before what the app, not a person, has written."""


class Message(NamedTuple):
    """Date and time as they stand there, the words beside it, and the rest."""

    bracketed: bool
    date: tuple[str, str, str]
    separator: str
    time: tuple[int, int, int]
    words: tuple[str, ...]
    rest: str


@each_file("*WhatsApp*.txt", "_chat.txt")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the chats; `more` is the name."""
    messages: list[Message] = []
    more: list[list[str]] = []  # the lines that go on with each
    for number, line in files.lines(name):
        message = _message(line)
        if message and (not messages or message.bracketed == messages[0].bracketed):
            messages.append(message)
            more.append([])
        elif messages:
            more[-1].append(line)
        else:
            reason = "expected a message with date and time"
            files.policy.reject(files.where(name, number), reason, line.encode())
    messages = [
        message._replace(rest="\n".join([message.rest, *lines]))
        for message, lines in zip(messages, more, strict=True)
    ]
    yield Raw(files.where(name, 1), None, messages, _called(files, name))


def _called(files: Files, name: str) -> str:
    """Return what a chat is called: an iPhone's file by the folder or the archive that it is in."""
    if files.single or stem(name) != "_chat":
        return stem(name)
    return Path(name).parent.name or Path(files.path).stem or stem(name)


def _message(line: str) -> Message | None:
    begun = MESSAGE.fullmatch(line)
    date = begun[2].translate(DIRECTIONS) if begun else ""
    head = next(filter(None, (head.fullmatch(date) for head in HEADS)), None)
    if not (begun and head):
        return None
    first, separator, second, third = head.group("first", "separator", "second", "third")
    hour, minute, seconds = (int(part or 0) for part in head.group("hour", "minute", "seconds"))
    words = tuple(re.findall(WORD, f"{head['before']} {head['after']}".replace(".", "")))
    time = (hour, minute, seconds)
    return Message(bool(begun[1]), (first, second, third), separator, time, words, begun[3])


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue."""
    talk = Talk()
    order, tell_nothing = _order(raw.value), _beside_24_hours(raw.value)
    for message in raw.value:
        spoken = SPOKEN.fullmatch(message.rest.removeprefix(MARK))
        if not spoken or message.rest.startswith(MARK):
            talk.leave(NOTICES)
            continue
        speaker = spoken[1].strip("\u200e\u200f~ \u202f\u202a\u202c")
        text = ATTACHED.sub("", ADDED.sub("", spoken[2]))
        if text.startswith(MARK) or text.rstrip(".") in DELETED:
            talk.leave(NOTICES)
        elif MEDIA.fullmatch(text):
            talk.leave(WITHOUT_TEXT)
        else:
            with talk.hearing(message._asdict()):
                talk.say(speaker, text, time=_time(message, order, tell_nothing))
    untimed = sum("time" not in turn for turn in talk.turns)
    return talk.record(id=raw.more) | ({FACTS: {UNTIMED: untimed}} if untimed else {})


def _order(messages: list[Message]) -> tuple[int, int, int]:
    """Return at which places year, month and day stand."""
    no_year = any(int(message.date[2]) < YEARS.start % 100 for message in messages)
    year_first = no_year and all(_year(int(message.date[0])) for message in messages)
    if year_first or any(len(message.date[0]) == 4 for message in messages):
        return 0, 1, 2
    day_first, month_first = (sum(int(m.date[place]) > 12 for m in messages) for place in (0, 1))
    american = any(m.separator == "/" and {"AM", "PM"} & {*m.words} for m in messages)
    is_month_first = month_first > day_first or (american and not day_first)
    return (2, 0, 1) if is_month_first else (2, 1, 0)


def _year(written: int) -> int | None:
    """Return the year of two digits or four, if it can be one."""
    years = (written, written + 2000, written - BUDDHIST, written + 2500 - BUDDHIST)
    return next((year for year in years if year in YEARS), None)


def _beside_24_hours(messages: list[Message]) -> set[str]:
    """Return the words that stand beside an hour which no half of a day has."""
    return {word.casefold() for m in messages if not 0 < m.time[0] <= 12 for word in m.words}


def _time(message: Message, order: tuple[int, int, int], tell_nothing: set[str]) -> str | None:
    """Return date and time in ISO 8601, or None of another calendar, or beside unknown words.

    Raises:
        Unexpected: if there is no such day, or time.
    """
    year, month, day = (int(message.date[place]) for place in order)
    hour, minute, second = message.time
    words = {word.casefold() for word in message.words}
    halves = {HALVES.get(word, "" if word in tell_nothing else None) for word in words} - {""}
    year = _year(year)
    if year is None or None in halves or len(halves) > 1:
        return None
    if halves:
        hour = hour % 12 + (12 if "pm" in halves else 0)
    try:
        when = datetime(year, month, day, hour, minute, second)
    except ValueError as error:
        shown = message.separator.join(message.date)
        time = ":".join(f"{part:02}" for part in message.time)
        raise Unexpected(f"{shown} {time}: {error}") from None
    return when.isoformat()

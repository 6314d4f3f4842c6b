"""WhatsApp's export of a chat: `WhatsApp Chat with NAME.txt`, or _chat.txt from an iPhone.

    12/31/24, 10:05 PM - Kim: see you             Android, American English
    31.12.24, 22:05 - Kim: bis dann               Android, German
    [31/12/2024, 22:05:33] Kim: see you           iPhone
    [31.12.2024 klo 22.05.33] Kim: nähdään        the same, Finnish; kl. in Danish
    2024/12/31 下午10:05 - Kim: 再见              Android, Chinese; alike in Japanese, Korean
    31/12/2024، 10:05 م - Kim: ...                Android, Arabic; with marks of direction

A chat is a dialogue; speakers have their names. Lines without a date go on with the message before,
and so do those that another phone wrote: copies of messages that somebody sends on.
Lines without a name and what the app itself writes in place of media are no turns. Day or month
first is told by most numbers above 12 in the file; else it is the day, but for `/` with AM, PM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.corpora.dialogues import WITHOUT_TEXT
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, each_file
from dialtools.corpora.native.talk import NOTICES, Talk, stem

MESSAGE = re.compile(
    r"[\u200e\u200f]?(\[)?[\u200e\u200f]?(\d{1,4})[\u200e\u200f]?([./-])\s?"  # the date
    r"(\d{1,2})[\u200e\u200f]?\3\s?(\d{1,4})\.?[\u200e\u200f]?[,،]?\s"
    r"(?:([^\W\d]{1,5})[.,]{0,2}\s?)?"  # of some languages a word
    r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?"  # the time
    r"(?:\s?([AaPp](?=\.?\s?[Mm])|[صم])(?:\.?\s?[Mm]\.?)?|\s\w\.)?"
    r"(?(1)\]| [-–])\s(.*)",
    re.DOTALL,
)
SPOKEN = re.compile(r"([^:\"“”«»]{1,80}?): ?(.*)", re.DOTALL)
MORNING = ("ص", "上午", "凌晨", "早上", "午前", "오전")
AFTERNOON = ("م", "下午", "中午", "晚上", "午後", "오후")
HALVES: dict[str, str] = {**dict.fromkeys(MORNING, "am"), **dict.fromkeys(AFTERNOON, "pm")}
"""Words beside a time that tell its half of the day; others (`klo`, `kl`) tell nothing."""
LATIN = tuple("AaPp")
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
    """Date and time as they stand there, whether in brackets, and the rest."""

    bracketed: bool
    date: tuple[str, str, str]
    separator: str
    time: tuple[str, str, str]
    half: str
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
    match = MESSAGE.fullmatch(line)
    if not match:
        return None
    bracket, first, separator, second, third, word, hour, minute, second_of_time, half, rest = (
        match.groups()
    )
    time = (hour, minute, second_of_time or "0")
    half = HALVES.get(half or word or "", half or "")
    return Message(bracket is not None, (first, second, third), separator, time, half, rest)


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue."""
    talk = Talk()
    order = _order(raw.value)
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
                talk.say(speaker, text, time=_time(message, order))
    return talk.record(id=raw.more)


def _order(messages: list[Message]) -> tuple[int, int, int]:
    """Return at which places year, month and day stand."""
    if any(len(message.date[0]) == 4 for message in messages):
        return 0, 1, 2
    day_first, month_first = (sum(int(m.date[place]) > 12 for m in messages) for place in (0, 1))
    american = any(message.half in LATIN and message.separator == "/" for message in messages)
    is_month_first = month_first > day_first or (american and not day_first)
    return (2, 0, 1) if is_month_first else (2, 1, 0)


def _time(message: Message, order: tuple[int, int, int]) -> str:
    """Return date and time in ISO 8601.

    Raises:
        Unexpected: if there is no such day, or time.
    """
    year, month, day = (int(message.date[place]) for place in order)
    hour, minute, second = map(int, message.time)
    if message.half:
        hour = hour % 12 + (12 if message.half[0] in "pP" else 0)
    try:
        when = datetime(year + (2000 if year < 100 else 0), month, day, hour, minute, second)
    except ValueError as error:
        shown = message.separator.join(message.date)
        raise Unexpected(f"{shown} {':'.join(message.time)}: {error}") from None
    return when.isoformat()

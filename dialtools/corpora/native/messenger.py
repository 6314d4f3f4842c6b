"""Messenger's and Instagram's chats as their download has them: message_1.json and on, by folder.

A folder is a dialogue; its files go back in time, as do the messages in each. Each byte of a text's
UTF-8 is written as a letter of its own, which is undone here. The download of encrypted chats has a
file a chat, `Kim_15.json`, oldest message first, its texts as they are. Speakers have their names.
Calls, pictures, stickers without a text, reactions and what was taken back are no turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, field, one_file
from dialtools.corpora.native.talk import NOTICES, Talk, known_text

PARTS = "message_*.json"
THREAD = "threadName"
ENCRYPTED_CHAT = f'"{THREAD}"'.encode()
"""What tells the download of encrypted chats."""
REACTED = re.compile(r"Liked a message|(?:.{1,80} )?[Rr]eacted \S{1,20} to your message\s?")
"""A reaction stands as a message of its own, too; so in English."""


class Names(NamedTuple):
    """What the fields of a message are called."""

    speaker: str
    text: str
    milliseconds: str
    taken_back: str


OPEN = Names("sender_name", "content", "timestamp_ms", "is_unsent")
ENCRYPTED = Names("senderName", "text", "timestamp", "isUnsent")


def raw(files: Files) -> Iterator[Raw]:
    """Yield the chats: the latest file of each, and as `more` the messages of all, oldest first."""
    for _, names in groupby([*_files(files)] or files.needed(PARTS), _chat):
        messages: list[dict[str, Any]] = []
        latest = None
        for name in sorted(names, key=_number, reverse=True):
            with one_file(files, name):
                content = files.json(name)
                own = field(content, "messages", list)
                messages += own if THREAD in content else own[::-1]
                latest = Raw(files.where(name, 1), None, content, more=messages)
        if latest:
            yield latest


def _files(files: Files) -> Iterator[str]:
    """Yield the names of the files of chats; both downloads may lie in one folder."""
    for name in files.names("*.json"):
        with files.one_of_many():
            if PurePosixPath(name).match(PARTS) or ENCRYPTED_CHAT in files.opening(name):
                yield name


def _chat(name: str) -> PurePosixPath:
    """Return what the files of a chat have in common: their folder, if it is of several."""
    path = PurePosixPath(name)
    return path.parent if path.match(PARTS) else path


def _number(name: str) -> int:
    """Return which of its chat's files one is; a single file may have any name."""
    digits = PurePosixPath(name).stem.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else 0


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domain is the chat's title."""
    names, read = (ENCRYPTED, str) if THREAD in raw.value else (OPEN, _read)
    talk = Talk()
    for message in talk.objects(raw.more, "messages"):
        if "call_duration" in message or message.get(names.taken_back) is True:
            talk.leave(NOTICES)
            continue
        with talk.hearing(message):
            text = read(field(message, names.text, str, default=""))
            who = read(known_text(message, names.speaker) or "")
            time = field(message, names.milliseconds, int, default=0) / 1000
            if REACTED.fullmatch(text):
                talk.leave(NOTICES)
            else:
                talk.say(who, text, time=time or None)
    title = read(known_text(raw.value, "title") or "")
    name = known_text(raw.value, THREAD, "thread_path", "title")
    return talk.record(id=name, domain=title or None)


def _read(text: str) -> str:
    """Return a text whose letters are the bytes of its UTF-8; any other as it is."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text

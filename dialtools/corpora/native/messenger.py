"""Messenger's and Instagram's chats as their download has them: message_1.json and on, by folder.

A folder is a dialogue; its files go back in time, as do the messages in each. Speakers have their
names. Each byte of a text's UTF-8 is written as a letter of its own, which is undone here. Calls,
pictures, stickers without a text, and messages that were taken back, are no turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, field
from dialtools.corpora.native.talk import NOTICES, Talk, known_text


def raw(files: Files) -> Iterator[Raw]:
    """Yield the chats: the latest file of each, and as `more` the messages of all, oldest first."""
    for _, names in groupby(
        files.needed("message_*.json"), lambda name: PurePosixPath(name).parent
    ):
        messages: list[dict[str, Any]] = []
        latest = None
        for name in sorted(names, key=_number, reverse=True):
            with files.one_of_many():
                content = files.json(name)
                messages += _messages(files, name, content)
                latest = Raw(files.where(name, 1), None, content, more=messages)
        if latest:
            yield latest


def _messages(files: Files, name: str, content: Any) -> list[Any]:
    try:
        return field(content, "messages", list)[::-1]
    except Unexpected as error:
        files.fail(name, str(error))


def _number(name: str) -> int:
    """Return which of its chat's files one is; a single file may have any name."""
    digits = PurePosixPath(name).stem.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else 0


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domain is the chat's title."""
    talk = Talk()
    for message in talk.objects(raw.more, "messages"):
        if "call_duration" in message or message.get("is_unsent") is True:
            talk.leave(NOTICES)
            continue
        with talk.hearing(message):
            text = _read(field(message, "content", str, default=""))
            time = field(message, "timestamp_ms", int, default=0) / 1000
            talk.say(_read(known_text(message, "sender_name") or ""), text, time=time or None)
    title = _read(known_text(raw.value, "title") or "")
    return talk.record(id=known_text(raw.value, "thread_path", "title"), domain=title or None)


def _read(text: str) -> str:
    """Return a text whose letters are the bytes of its UTF-8; any other as it is."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text

"""Microsoft Teams: messages as Graph's API lists them, or a personal export's messages.json.

A thread of a channel is a dialogue (its replies stand beside a message, or within), and so is a
chat, its messages by time. Speakers have their names, in a personal export their ids, of which
those of bots begin with 28:. Bots, calls, joins and other notices are no turns.
https://learn.microsoft.com/graph/api/resources/chatmessage; Skype exports the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.markup import seen
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, field
from dialtools.corpora.native.talk import BOTS, NOTICES, Talk, documents, known_text, objects

SPOKEN = ("message", "Text", "RichText", "RichText/Html")
KINDS = ("messageType", "messagetype")
TIMES = ("createdDateTime", "originalarrivaltime")
PLAIN = "Text"
BOT = "28:"


def raw(files: Files) -> Iterator[Raw]:
    """Yield the messages of each chat and each thread; `more` is its id and its name."""
    threads: dict[str, Raw] = {}
    for found in documents(within="value")(files):
        if not isinstance(found.value, dict) or "conversations" not in found.value:
            told = found._replace(value=[], more=(_thread(found.value), None))
            threads.setdefault(told.more[0], told).value.extend(_with_replies(found.value))
            continue
        try:
            chats = objects(found.value["conversations"], "conversations")
        except Unexpected as error:
            files.policy.reject(found.where, str(error), found.value)
            continue
        for chat in chats:
            named = known_text(chat, "id"), known_text(chat, "displayName")
            yield found._replace(value=chat.get("MessageList") or [], more=named)
    yield from threads.values()


def _thread(message: Any) -> str:
    """Return the id of a message's chat, or of the message that its thread began with."""
    return (isinstance(message, dict) and known_text(message, "chatId", "replyToId", "id")) or ""


def _with_replies(message: Any) -> list[Any]:
    """Return a message and its replies, which a list has that was asked for with them."""
    replies = message.get("replies") if isinstance(message, dict) else None
    return [message, *(replies if isinstance(replies, list) else [])]


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domain is the chat's name."""
    name, called = raw.more
    talk = Talk()
    messages = talk.objects(raw.value, "messages")
    for message in sorted(messages, key=_time):
        who, bot = _speaker(message.get("from"))
        if known_text(message, *KINDS) not in SPOKEN:
            talk.leave(NOTICES)
        elif bot:
            talk.leave(BOTS)
        else:
            with talk.hearing(message):
                talk.say(who, _text(message), time=known_text(message, *TIMES))
    return talk.record(id=name, domain=called)


def _time(message: dict[str, Any]) -> str:
    """Return a time to sort by: ends of fractions differ in length, and Z is after each digit."""
    return (known_text(message, *TIMES) or "").rstrip("Z")


def _speaker(sender: Any) -> tuple[str | None, bool]:
    """Return who sent a message, and whether that is a program."""
    if not isinstance(sender, dict):
        known = sender if isinstance(sender, str) else ""
        return known or None, known.startswith(BOT)
    person = sender.get("user")
    if not isinstance(person, dict):
        return None, isinstance(sender.get("application"), dict)
    return known_text(person, "displayName", "id"), False


def _text(message: dict[str, Any]) -> str:
    if "content" in message:
        text = field(message, "content", str, default="")
        return text if known_text(message, *KINDS) == PLAIN else seen(text)
    body = field(message, "body", dict, default={})
    text = field(body, "content", str, default="")
    return seen(text) if body.get("contentType") == "html" else text

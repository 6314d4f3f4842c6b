"""Discord's channels as DiscordChatExporter writes them: a JSON file a channel or a thread.

A file is a dialogue. Speakers have the names that the server knows them by; joins, pins, other
notices and messages of bots are no turns. https://github.com/Tyrrrz/DiscordChatExporter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, field
from dialtools.corpora.native.talk import BOTS, NOTICES, Talk, documents, known_text

SPOKEN = ("Default", "Reply")


def raw(files: Files) -> Iterator[Raw]:
    """Yield the channels."""
    yield from documents(files, "*.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domain is the channel's name."""
    channel = field(raw.value, "channel", dict, default={})
    talk = Talk()
    for message in talk.objects(field(raw.value, "messages", list), "messages"):
        with talk.hearing(message):
            author = field(message, "author", dict, default={})
            if message.get("type", "Default") not in SPOKEN:
                talk.leave(NOTICES)
            elif author.get("isBot") is True:
                talk.leave(BOTS)
            else:
                text = field(message, "content", str, default="")
                speaker = known_text(author, "nickname", "name", "id")
                talk.say(speaker, text, time=known_text(message, "timestamp"))
    return talk.record(id=known_text(channel, "id"), domain=known_text(channel, "name"))

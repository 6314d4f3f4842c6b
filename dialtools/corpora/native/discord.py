"""Discord's channels as DiscordChatExporter writes them: a JSON file a channel or a thread.

A file is a dialogue. Speakers have the names that the server knows them by; joins, pins, other
notices and messages of bots are no turns. Whom a text mentions is called by name.
https://github.com/Tyrrrz/DiscordChatExporter.
"""

from __future__ import annotations

import re
from typing import Any

from dialtools.corpora.native.raw import Raw, field
from dialtools.corpora.native.talk import BOTS, NOTICES, Talk, documents, known_text, objects

SPOKEN = ("Default", "Reply")
MARK = re.compile(r"<(?:(?P<sign>[@#])[!&]?(?P<id>\d+)|a?(?P<emoji>:\w+:)\d+)>")
"""Of a person, a role, a channel or an emoji, in exports whose markdown was left as it is."""

raw = documents("*.json")


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
                talk.say(_called(author), _text(message), time=known_text(message, "timestamp"))
    return talk.record(id=known_text(channel, "id"), domain=known_text(channel, "name"))


def _called(person: dict[str, Any]) -> str | None:
    return known_text(person, "nickname", "name", "id")


def _text(message: dict[str, Any]) -> str:
    """Return a text without Discord's marks: people by name, where the message tells it."""
    mentioned = objects(field(message, "mentions", list, default=[]), "mentions")
    names = {known_text(person, "id"): _called(person) for person in mentioned}

    def shown(mark: re.Match[str]) -> str:
        return mark["emoji"] or f"{mark['sign']}{names.get(mark['id']) or mark['id']}"

    return MARK.sub(shown, field(message, "content", str, default=""))

"""Telegram Desktop's export: result.json, one chat, or all of an account under `chats`.

A chat is a dialogue; speakers have their names. Service messages are no turns, nor are pictures,
voices and stickers without a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.fields import json_kind
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, each_file, field
from dialtools.corpora.native.talk import NOTICES, Talk, known_text, objects

LISTS = ("chats", "left_chats")


@each_file("result.json")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the chats."""
    chats = _chats(files.json(name))
    yield from (Raw(files.where(name, n), None, chat) for n, chat in enumerate(chats, 1))


def _chats(content: Any) -> list[dict[str, Any]]:
    if not isinstance(content, dict) or not any(key in content for key in LISTS):
        return [content]
    found = [field(content, key, dict, default={}) for key in LISTS]
    return [chat for part in found for chat in objects(part.get("list", []), "list")]


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domain is the chat's name."""
    talk = Talk()
    for message in talk.objects(field(raw.value, "messages", list), "messages"):
        if message.get("type") != "message":
            talk.leave(NOTICES)
            continue
        speaker = known_text(message, "from", "from_id")
        with talk.hearing(message):
            talk.say(speaker, _text(message.get("text", "")), time=known_text(message, "date"))
    return talk.record(id=known_text(raw.value, "id"), domain=known_text(raw.value, "name"))


def _text(text: Any) -> str:
    """Return a text, or the texts of its parts: links and bold words are objects."""
    parts = text if isinstance(text, list) else [text]
    texts: list[Any] = [part.get("text") if isinstance(part, dict) else part for part in parts]
    for part in texts:
        if not isinstance(part, str):
            raise Unexpected(f"text: expected a string or parts of one, found {json_kind(part)}")
    return "".join(texts)

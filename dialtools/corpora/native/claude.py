"""Claude's data export: conversations.json, a list of conversations, each a list of messages.

People are the user, the assistant is the system. Of a message its blocks of text are read; thoughts
and what tools are asked and answer are none. Where messages name the one before, as newer exports
do, the dialogue is the branch that ends with the last.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, field, known
from dialtools.corpora.native.talk import Talk, documents, known_text, objects

SPEAKERS = {"human": "user", "assistant": "system"}
MESSAGES, BEFORE = "chat_messages", "parent_message_uuid"

raw = documents("conversations.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue with its `title`."""
    talk = Talk()
    for message in _branch(talk.objects(field(raw.value, MESSAGES, list), MESSAGES)):
        with talk.hearing(message):
            speaker = known(SPEAKERS, message.get("sender"), "sender")
            talk.say(speaker, _text(message), time=known_text(message, "created_at"))
    return talk.record(id=known_text(raw.value, "uuid"), title=known_text(raw.value, "name"))


def _branch(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages up to the last, without those of other branches."""
    if not messages or not all(known_text(message, BEFORE) for message in messages):
        return messages
    left = {known_text(message, "uuid"): message for message in messages}
    branch: list[dict[str, Any]] = []
    at = known_text(messages[-1], "uuid")
    while message := left.pop(at, None):
        branch.append(message)
        at = known_text(message, BEFORE)
    return branch[::-1]


def _text(message: dict[str, Any]) -> str:
    """Return the blocks of text, without which older exports have the text itself."""
    blocks = objects(field(message, "content", list, default=[]), "content")
    if not blocks:
        return field(message, "text", str, default="")
    return "\n".join(
        field(block, "text", str, default="") for block in blocks if block.get("type") == "text"
    )

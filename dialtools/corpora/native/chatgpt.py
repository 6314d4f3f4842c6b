"""ChatGPT's data export: conversations.json, a list of conversations, each a tree of messages.

The dialogue is what one sees on the screen: the branch that ends with `current_node`. The assistant
is the system; instructions, what tools are told and answer, and thoughts are no turns.
"""

from __future__ import annotations

import re
from typing import Any

from dialtools.corpora.native.raw import Raw, Unexpected, field
from dialtools.corpora.native.talk import Talk, documents, known_text, known_time

SPEAKERS = {"user": "user", "assistant": "system"}
INSTRUCTIONS, TOOLS = "instructions", "turns of tools"
SPOKEN = ("text", "multimodal_text")
"""Types of content that people read as messages; others are code, thoughts, what tools print."""
MARK = re.compile("\ue200([^\ue200\ue201]*)\ue201")
"""Between private letters stands what the screen has a button for, as citeturn0search1 of a source.

A link has its text there, too, and an entity its name: `url`, `entity["city","Rome","..."]`.
"""
SOURCE = re.compile(r" ?【\d+(?::\d+)?†[^【】]*】|[\ue203\ue204]")
"""Where older answers name a source, as 【4†source】; and marks around the words that have one."""

ENTITY = re.compile(r'\["[^"]*", ?"([^"]*)"')

raw = documents("conversations.json", "conversations-[0-9]*.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue with its `title`."""
    talk = Talk()
    for message in _branch(raw.value):
        with talk.hearing(message):
            _hear(message, talk)
    name = known_text(raw.value, "conversation_id", "id")
    return talk.record(id=name, title=known_text(raw.value, "title"))


def _hear(message: dict[str, Any], talk: Talk) -> None:
    author = field(message, "author", dict, default={})
    content = field(message, "content", dict, default={})
    hidden = field(message, "metadata", dict, default={}).get("is_visually_hidden_from_user")
    speaker = SPEAKERS.get(str(author.get("role")))
    if author.get("role") == "system" or hidden is True:
        talk.leave(INSTRUCTIONS)
    elif speaker is None or not _is_spoken(message, content):
        talk.leave(TOOLS)
    else:
        talk.say(speaker, _text(content), time=known_time(message, "create_time"))


def _branch(conversation: Any) -> list[dict[str, Any]]:
    """Return the messages from the root to the current node."""
    nodes = field(conversation, "mapping", dict)
    at = conversation.get("current_node") or _last_leaf(nodes)
    branch: list[dict[str, Any]] = []
    seen: set[str] = set()
    while at is not None:
        if not isinstance(at, str) or at not in nodes or at in seen:
            raise Unexpected(f"mapping: no way from {at!r} to the root")
        seen.add(at)
        node = nodes[at]
        message = field(node, "message", dict, default=None)
        branch += [message] if message else []
        at = node.get("parent")
    return branch[::-1]


def _last_leaf(nodes: dict[str, Any]) -> str | None:
    leaves = (n for n, node in nodes.items() if isinstance(node, dict) and not node.get("children"))
    return next(reversed(list(leaves)), None)


def _is_spoken(message: dict[str, Any], content: dict[str, Any]) -> bool:
    to_all = message.get("recipient") in (None, "all")
    return to_all and content.get("content_type", "text") in SPOKEN


def _text(content: dict[str, Any]) -> str:
    """Return the texts among the parts; pictures have none, a voice has what was understood."""
    parts = field(content, "parts", list, default=[])
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    text = "\n".join(text for text in texts if isinstance(text, str))
    return SOURCE.sub("", MARK.sub(_shown, text))


def _shown(mark: re.Match[str]) -> str:
    """Return the words that the screen has in place of a mark."""
    kind, *facts = mark[1].split("\ue202")
    if kind == "url" and facts:
        return facts[0]
    entity = ENTITY.match(facts[0]) if kind == "entity" and facts else None
    return entity[1] if entity else ""

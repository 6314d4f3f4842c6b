"""Slack's export: a folder a channel, in it YYYY-MM-DD.json, a list of the messages of a day.

A thread is a dialogue, and so are the other messages of a channel's day; a message stands in one of
them. Speakers have the names that users.json, or the message, tells. Joins, other notices and
messages of integrations are no turns.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from dialtools.corpora.fields import json_kind
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, field
from dialtools.corpora.native.talk import BOTS, NOTICES, Talk, known_text, stem

DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json"
SPOKEN = (None, "me_message", "thread_broadcast", "file_share", "file_comment")
"""Subtypes of messages that somebody wrote."""
LINK = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")


def raw(files: Files) -> Iterator[Raw]:
    """Yield the messages of each thread and of each day; `more` is an id, and names by user."""
    users = _users(files)
    days = sorted(files.needed(f"*/{DAY}", DAY))
    for channel, names in groupby(days, key=_channel):
        threads: dict[str, Raw] = {}
        for name in names:
            day = stem(name)
            where = files.where(name, 1)
            rest: list[Any] = []
            with files.one_of_many():
                for message in _messages(files, name):
                    root = _root(message)
                    told = Raw(where, None, [], (f"{channel}/{root}", users))
                    (threads.setdefault(root, told).value if root else rest).append(message)
            if rest:
                yield Raw(where, None, rest, (f"{channel}/{day}", users))
        yield from threads.values()


def _root(message: Any) -> str | None:
    """Return the time of the message that a thread began with."""
    root = message.get("thread_ts") if isinstance(message, dict) else None
    return root if isinstance(root, str) else None


def _channel(name: str) -> str:
    return name.split("/")[-2] if "/" in name else ""


def _messages(files: Files, name: str) -> list[Any]:
    content = files.json(name)
    if not isinstance(content, list):
        files.fail(name, f"messages: expected a list, found {json_kind(content)}")
    return content


def _users(files: Files) -> dict[str, str]:
    """Return what users are called, by id."""
    names: dict[str, str] = {}
    for name in [] if files.single else files.names("users.json"):
        with files.one_of_many():
            names |= _names(_messages(files, name))
    return names


def _names(users: list[Any]) -> dict[str, str]:
    names: dict[str, str] = {}
    for user in users:
        if isinstance(user, dict) and isinstance(user.get("id"), str):
            profile = user.get("profile")
            shown = profile if isinstance(profile, dict) else {}
            called = known_text(shown, "display_name", "real_name") or known_text(user, "name")
            names |= {user["id"]: called} if called else {}
    return names


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its domain is the channel."""
    name, users = raw.more
    talk = Talk()
    for message in talk.objects(raw.value, "messages"):
        if message.get("type") != "message" or message.get("user") == "USLACKBOT":
            talk.leave(NOTICES)
        elif message.get("subtype") == "bot_message" or message.get("bot_id"):
            talk.leave(BOTS)
        elif message.get("subtype") not in SPOKEN:
            talk.leave(NOTICES)
        else:
            with talk.hearing(message):
                text = _plain(field(message, "text", str, default=""), users)
                talk.say(_speaker(message, users), text, time=known_text(message, "ts"))
    return talk.record(id=name.strip("/"), domain=name.split("/")[0] or None)


def _speaker(message: dict[str, Any], users: dict[str, str]) -> str | None:
    profile = message.get("user_profile")
    told = known_text(profile, "display_name", "real_name") if isinstance(profile, dict) else None
    user = known_text(message, "user")
    return users.get(user or "") or told or known_text(message, "username") or user


def _plain(text: str, users: dict[str, str]) -> str:
    """Return a text without Slack's marks: people and channels by name, links by what is shown."""

    def shown(match: re.Match[str]) -> str:
        target, label = match.groups()
        if target.startswith("@"):
            return f"@{label or users.get(target[1:], target[1:])}"
        if target.startswith("#"):
            return f"#{label or target[1:]}"
        return label or re.sub("^!", "@", target)

    return html.unescape(LINK.sub(shown, text))

"""Intercom's conversations as its API and export have them: JSON, one, a list, or one a line.

A conversation is a dialogue: contacts (users, leads) are the user, admins and bots the system. What
opens it stands under `source`, what follows under `conversation_parts`. Notes of the team,
assignments and other parts without a text are no turns. Who is not told has no speaker.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.markup import seen
from dialtools.corpora.native.raw import Raw, field, known
from dialtools.corpora.native.talk import INTERNAL, NOTICES, Talk, documents, known_text

SPEAKERS = {
    "user": "user",
    "lead": "user",
    "contact": "user",
    "admin": "system",
    "bot": "system",
    "team": "system",
}
PARTS = "conversation_parts"
NOTES = ("note", "note_and_reopen")

raw = documents(within="conversations")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue."""
    opening = field(raw.value, "source", dict)
    listed = field(raw.value, PARTS, dict, default={})
    talk = Talk()
    for part in [opening, *talk.objects(listed.get(PARTS) or [], PARTS)]:
        with talk.hearing(part):
            text = seen(field(part, "body", str, default=""))
            if part.get("part_type") in NOTES:
                talk.leave(INTERNAL)
            elif not text.strip() and part is not opening:
                talk.leave(NOTICES)
            else:
                kind = field(part, "author", dict, default={}).get("type")
                role = known(SPEAKERS, kind, "author: type") if kind else None
                time = part.get("created_at", raw.value.get("created_at"))
                talk.say(role, text, time=time if type(time) in (int, float, str) else None)
    return talk.record(id=known_text(raw.value, "id"))

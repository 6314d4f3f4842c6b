"""Amazon Connect: transcripts of chats, and of chats and calls as Contact Lens analyses them; JSON.

A contact is a dialogue: the customer is the user, agents and supervisors are the system. Messages
of the system and of bots, events, attachments and what is to be clicked are no turns. Times of a
call are in seconds from its beginning.
https://docs.aws.amazon.com/connect/latest/adminguide/contact-lens-example-output-files.html
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, field
from dialtools.corpora.native.talk import BOTS, NOTICES, Talk, documents, known_text, known_time

SPEAKERS = {"CUSTOMER": "user", "AGENT": "system", "SUPERVISOR": "system"}
PROGRAMS = ("SYSTEM", "CUSTOM_BOT")

raw = documents()


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue."""
    talk = Talk()
    people = talk.objects(field(raw.value, "Participants", list, default=[]), "Participants")
    roles = {person.get("ParticipantId"): _role(person) for person in people}
    for message in talk.objects(field(raw.value, "Transcript", list), "Transcript"):
        role = _role(message) or roles.get(message.get("ParticipantId"))
        if not _is_spoken(message):
            talk.leave(NOTICES)
        elif role in PROGRAMS:
            talk.leave(BOTS)
        else:
            with talk.hearing(message):
                text = field(message, "Content", str, default="")
                talk.say(SPEAKERS.get(role or ""), text, time=_time(message))
    about = field(raw.value, "CustomerMetadata", dict, default={})
    return talk.record(id=known_text(raw.value, "ContactId") or known_text(about, "ContactId"))


def _role(person: dict[str, Any]) -> str | None:
    """Return the role of a participant, or of who wrote a message; of a call the id is one."""
    name = known_text(person, "ParticipantRole", "ParticipantId")
    return name if name in (*SPEAKERS, *PROGRAMS) else None


def _is_spoken(message: dict[str, Any]) -> bool:
    """Tell whether a message is a text; parts of a call tell no type."""
    kind = known_text(message, "ContentType") or "text/plain"
    return message.get("Type", "MESSAGE") == "MESSAGE" and kind.startswith("text/")


def _time(message: dict[str, Any]) -> str | float | None:
    start = known_time(message, "BeginOffsetMillis")
    return known_text(message, "AbsoluteTime") if start is None else start / 1000

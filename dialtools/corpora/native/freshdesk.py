"""Freshdesk's and Freshservice's tickets with their conversations: lines, a list, or one, of JSON.

A ticket is a dialogue: it opens with its description, the user's but for outbound e-mail. Messages
that came in are the user's, those that went out the system's; private ones are no turns.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.markup import seen
from dialtools.corpora.native.raw import Raw, Unexpected, field
from dialtools.corpora.native.talk import INTERNAL, Talk, documents, known_text

ROLES = {True: "user", False: "system", None: None}
"""Of a message that came in or went out; None where the export does not tell."""
OUTBOUND = 10
"""The source of a ticket that an agent has opened, by an e-mail to the customer."""

raw = documents(within="tickets")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue with the ticket's `subject`."""
    ticket = raw.value
    if not isinstance(ticket, dict) or not {"conversations", "description"} & ticket.keys():
        raise Unexpected("expected a ticket with 'conversations' or a 'description'")
    talk = Talk()
    opener = "system" if ticket.get("source") == OUTBOUND else "user"
    talk.say(opener, _text(ticket, "description"), time=known_text(ticket, "created_at"))
    for message in talk.objects(ticket.get("conversations") or [], "conversations"):
        if message.get("private") is True:
            talk.leave(INTERNAL)
            continue
        with talk.hearing(message):
            role = ROLES[field(message, "incoming", bool, default=None)]
            talk.say(role, _text(message, "body"), time=known_text(message, "created_at"))
    return talk.record(id=known_text(ticket, "id"), subject=known_text(ticket, "subject"))


def _text(record: dict[str, Any], name: str) -> str:
    """Return what people see of the markup, which has lines; where there is none, its text."""
    markup = field(record, name, str, default="")
    return seen(markup) or field(record, f"{name}_text", str, default="")

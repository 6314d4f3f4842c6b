"""Zendesk's tickets with their comments: lines, a list, or an object with `tickets`, of JSON.

A ticket is a dialogue: who asked for it (`requester`) is the user, everybody else the system.
Comments that are not public are no turns. A ticket without comments is its description, the
system's if another than the requester has submitted it.
"""

from __future__ import annotations

import html
from typing import Any

from dialtools.corpora.markup import seen
from dialtools.corpora.native.raw import Raw, Unexpected, field
from dialtools.corpora.native.talk import INTERNAL, Talk, documents, known_text

raw = documents(within="tickets")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue with the ticket's `subject`."""
    ticket = raw.value
    if not isinstance(ticket, dict) or not {"comments", "description"} & ticket.keys():
        raise Unexpected("expected a ticket with 'comments' or a 'description'")
    requester = _person(ticket, "requester")
    talk = Talk()
    comments = talk.objects(ticket.get("comments") or [], "comments")
    for comment in comments:
        author = _person(comment, "author")
        if comment.get("public") is False:
            talk.leave(INTERNAL)
        else:
            with talk.hearing(comment):
                talk.say(
                    _role(author, requester), _text(comment), time=known_text(comment, "created_at")
                )
    if not comments:
        opened = known_text(ticket, "created_at")
        role = _role(_person(ticket, "submitter") or requester, requester) or "user"
        talk.say(role, field(ticket, "description", str, default=""), time=opened)
    return talk.record(id=known_text(ticket, "id"), subject=known_text(ticket, "subject"))


def _role(author: str | None, requester: str | None) -> str | None:
    """Return who writes; None where the export does not tell both."""
    if author is None or requester is None:
        return None
    return "user" if author == requester else "system"


def _person(record: dict[str, Any], name: str) -> str | None:
    """Return the id of a person who stands there as such, or as an object."""
    whole = record.get(name)
    return known_text(record, f"{name}_id") or (
        known_text(whole, "id", "email", "name") if isinstance(whole, dict) else None
    )


def _text(comment: dict[str, Any]) -> str:
    plain, body, markup = (
        field(comment, name, str, default="") for name in ("plain_body", "body", "html_body")
    )
    return html.unescape(plain) or body or seen(markup)

"""Rasa's conversations: trackers with their events, or the events that `rasa export` writes.

A session of a sender is a dialogue: it begins anew with session_started and restart. Intents chosen
with a button (/affirm) are no turns; entities are the slots of a text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, field, slot
from dialtools.corpora.native.talk import Talk, documents, known_text, known_time, objects

SPEAKERS = {"user": "user", "bot": "system"}
BEGINS = ("session_started", "restart")


def raw(files: Files) -> Iterator[Raw]:
    """Yield the sessions of each sender, by trackers or by events; `more` is sender and number."""
    by_sender: dict[str | None, list[Raw]] = {}
    for raw in documents()(files):
        sender = known_text(raw.value, "sender_id") if isinstance(raw.value, dict) else None
        by_sender.setdefault(sender, []).append(raw)
    for sender, group in by_sender.items():
        for number, (where, events) in enumerate(_sessions(group), 1):
            yield Raw(where, None, events, (sender, number))


def _sessions(group: list[Raw]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield where a session begins, and its events."""
    held: list[Any] = []
    at = None
    for raw in group:
        at = at or raw.where
        whole = isinstance(raw.value, dict) and isinstance(raw.value.get("events"), list)
        for event in raw.value["events"] if whole else [raw.value]:
            if _is(event, BEGINS) and any(_is(earlier, SPEAKERS) for earlier in held):
                yield at, held
                held, at = [], raw.where
            held.append(event)
    if held:
        yield at, held


def _is(event: Any, kinds: Collection[str]) -> bool:
    kind = event.get("event") if isinstance(event, dict) else None
    return isinstance(kind, str) and kind in kinds


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its id is the sender's, /2 the second session's."""
    sender, number = raw.more
    talk = Talk()
    for event in talk.objects(raw.value, "events"):
        with talk.hearing(event):
            speaker = SPEAKERS.get(field(event, "event", str))
            text = field(event, "text", str, default="") if speaker else ""
            if speaker == "user" and text.startswith("/"):
                talk.leave("buttons")
            elif speaker:
                entities = _entities(event, text) if speaker == "user" else None
                talk.say(speaker, text, slots=entities, time=known_time(event, "timestamp"))
    return talk.record(id=sender if number == 1 or sender is None else f"{sender}/{number}")


def _entities(event: dict[str, Any], text: str) -> list[dict[str, Any]] | None:
    """Return the entities as slots of a text without blanks at its ends."""
    parsed = field(event, "parse_data", dict, default={})
    if "entities" not in parsed:
        return None
    shift = len(text) - len(text.lstrip())
    slots = []
    for entity in objects(parsed["entities"], "entities"):
        start, end, label = (entity.get(key) for key in ("start", "end", "entity"))
        if start is None and end is None:  # a component of one's own told the value alone
            continue
        if type(start) is not int or type(end) is not int or not isinstance(label, str):
            raise Unexpected("entities: expected start, end and entity")
        slots.append(slot(start - shift, end - shift, label))
    return slots

"""Gong's transcripts of calls as its API has them: JSON, of many calls, one, or one a line.

A call is a dialogue, what somebody says until another speaks a turn, its time in seconds from the
start; speakers are called by their numbers.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, field
from dialtools.corpora.native.talk import Talk, documents, known_text, known_time, objects

raw = documents(within="callTranscripts")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue."""
    talk = Talk()
    for part in talk.objects(field(raw.value, "transcript", list), "transcript"):
        with talk.hearing(part):
            sentences = objects(field(part, "sentences", list), "sentences")
            text = " ".join(field(sentence, "text", str).strip() for sentence in sentences)
            start = known_time(sentences[0], "start") if sentences else None
            seconds = None if start is None else start / 1000
            talk.say(known_text(part, "speakerId", "speakerName"), text, time=seconds)
    return talk.record(id=known_text(raw.value, "callId", "id"))

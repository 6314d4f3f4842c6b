"""Logged calls of language models, of tools that watch them and of gateways: JSON, or one a line.

LangSmith calls them runs (run_type llm), Langfuse generations, or traces. A call has the messages
that a model was given, and what it answered; most are given again what was said before. So of the
calls of a session the one that was given the most messages holds the chat, if a model's words are
among them. If they are not, the calls of a session follow each other, one of each trace. Where no
session is told, a trace, or a call, that another goes on from is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import orjson

from dialtools.corpora.catalog import JSON_FILES
from dialtools.corpora.chat import ASSISTANT, CALLS, USER, messages
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected
from dialtools.corpora.native.talk import Talk, documents, known_text
from dialtools.streams import exact

SESSIONS = ("thread_id", "session_id", "sessionId", "conversation_id")
TRACES = ("trace_id", "traceId")
TIMES = ("start_time", "startTime", "timestamp", "created_at", "createdAt", "created")
STEPS = {"llm", "generation"}
"""What logs that have other steps of a program, too, call those of a model."""
SPEAKERS = {USER: "user", ASSISTANT: "system"}
ASKED = ("messages", "input", "contents", "question", "query", "prompt", "text")
ANSWERS = ("generations", "choices", "candidates", "message", "messages", "output", "answer")
"""Fields in which the makers of models, and of programs, put what is asked and answered."""


class Call:
    """A call of a model, and the messages that it was given."""

    def __init__(self, raw: Raw, given: list[Any]) -> None:
        self.raw = raw
        self.given = given
        self.goes_on = any(_role(message) == ASSISTANT for message in messages(given))
        self.time = known_text(raw.value, *TIMES) or ""

    def digests(self) -> Iterator[bytes]:
        """Yield what tells apart the first message given, the first two, and so on."""
        total = blake2b(digest_size=16)
        for message in messages(self.given):
            total.update(orjson.dumps([_role(message), _content(message)], default=str))
            yield total.digest()


def raw(files: Files) -> Iterator[Raw]:
    """Yield the calls that hold the chat of each session; `more` is its name.

    Raises:
        DataError: if no call is a chat.
    """
    sessions: dict[str, dict[str, Call]] = {}
    alone: dict[str, dict[str, Call]] = {}
    for number, raw in enumerate(documents(within=("runs", "data"))(files)):
        if not isinstance(raw.value, dict) or not (given := _given(raw.value)):
            continue
        session, trace = _session(raw.value), known_text(raw.value, *TRACES, "id") or f"#{number}"
        chat = alone.setdefault(trace, {}) if session is None else sessions.setdefault(session, {})
        _keep(Call(raw, given), trace, chat)
    if not sessions and not alone:
        told = "no call of a model (run_type llm, type GENERATION) with the messages it was given"
        files.fail(files.needed(*JSON_FILES)[0], told)
    for name, traces in sessions.items():
        calls = sorted(traces.values(), key=lambda call: call.time)
        yield Raw(calls[0].raw.where, None, [call.raw.value for call in calls], name)
    for call in _not_repeated([call for chat in alone.values() for call in chat.values()]):
        name = known_text(call.raw.value, *TRACES, "id")
        yield Raw(call.raw.where, None, [call.raw.value], name)


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue: instructions, tools and calls of tools are no turns."""
    talk = Talk()
    said = [part for call in raw.value for part in (*_given(call), *_answer(_of(call)[1]))]
    for message in talk.objects(messages(said), "messages"):
        role = _role(message)
        if role in SPEAKERS:
            with talk.hearing(message):
                talk.say(SPEAKERS[role], _text(message.get("content")))
        else:
            talk.leave("instructions" if role in ("system", "developer") else "turns of tools")
    return talk.record(id=raw.more)


def _keep(call: Call, trace: str, traces: dict[str, Call]) -> None:
    """Keep of a session the call with the longest chat, else one a trace; of equals the last."""
    longest = max(traces.values(), key=lambda other: other.goes_on * len(other.given), default=None)
    if call.goes_on:
        if longest is None or not longest.goes_on or len(call.given) >= len(longest.given):
            traces.clear()
            traces[trace] = call
    elif longest is None or not longest.goes_on:
        before = traces.get(trace)
        if before is None or len(call.given) >= len(before.given):
            traces[trace] = call


def _not_repeated(calls: list[Call]) -> Iterator[Call]:
    """Yield the calls that no other goes on from, of equal ones as many as are not gone on from.

    Ten people may begin alike, of whom three go on.
    """
    begun: Counter[bytes] = Counter()
    whole: set[int] = set()
    for number in sorted(range(len(calls)), key=lambda number: -len(calls[number].given)):
        *beginnings, all_of_it = calls[number].digests()
        if begun[all_of_it]:
            begun[all_of_it] -= 1
        else:
            begun.update(beginnings)
            whole.add(number)
    yield from (call for number, call in enumerate(calls) if number in whole)


def _of(call: dict[str, Any]) -> tuple[Any, Any]:
    """Return what a model was given and what it answered; some logs write JSON as text."""
    place = next((place for place in CALLS if call.get(place[0]) is not None), CALLS[0])
    given, answered = (_read(call.get(name)) for name in place)
    return given, answered


def _read(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return exact.loads(value.encode())
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            return value
    return value


def _given(call: dict[str, Any]) -> list[Any]:
    """Return the messages that a model was given; LangChain has a list of lists of them."""
    kind = known_text(call, "run_type", "type")
    watched = "run_type" in call or known_text(call, *TRACES)
    if watched and kind and kind.casefold() not in STEPS:  # those have messages, too
        return []
    given = _of(call)[0]
    while isinstance(given, dict):
        given = next((given[key] for key in ASKED if given.get(key)), None)
    while isinstance(given, list) and given and isinstance(given[0], list):
        given = given[0]
    if isinstance(given, str) and given.strip():
        return [{"role": USER, "content": given}]
    return given if isinstance(given, list) else []


def _session(call: dict[str, Any]) -> str | None:
    """Return what names the session of a call."""
    extra = call.get("extra")
    told = [extra.get("metadata") if isinstance(extra, dict) else None, call.get("metadata")]
    if "run_type" not in call:  # LangSmith calls its projects sessions
        told.insert(0, call)
    named = (known_text(facts, *SESSIONS) for facts in told if isinstance(facts, dict))
    return next(filter(None, named), None)


def _answer(value: Any) -> list[Any]:
    """Return the message of an answer, however deep it lies, or nothing of a call that failed."""
    while isinstance(value, list | dict):
        if isinstance(value, dict):
            key = next((key for key in ANSWERS if value.get(key)), None)
            if key is None and isinstance(value.get("content"), dict):
                key = "content"
            if key is None:
                return _message(value)
            value = value[key]
        else:
            value = value[-1] if value else None
    return [{"role": ASSISTANT, "content": value}] if value else []


def _message(value: dict[str, Any]) -> list[Any]:
    """Return an answer as a message; what says neither role nor type is the model's."""
    if {"content", "parts", "kwargs", "data"}.isdisjoint(value):
        value = {"content": value.get("text")} if value else {}
    own = {} if {"type", "kwargs", "data"} & set(value) else {"role": ASSISTANT}
    return [own | value] if value else []


def _role(message: Any) -> str:
    return str(message.get("role")) if isinstance(message, dict) else ""


def _content(message: Any) -> Any:
    return message.get("content") if isinstance(message, dict) else message


def _text(content: Any) -> str:
    """Return a text, or the texts of its parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise Unexpected("content: expected a text or parts of one")
    return " ".join(_texts(content))


def _texts(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts:
        thought = isinstance(part, dict) and part.get("thought") is True
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str) and not thought:
            yield text

"""LangSmith's runs as its API and exports have them: JSON, one, a list, or one a line.

A thread is a dialogue, else a trace. Of its calls of a model (run_type llm) the one that was given
the most messages holds the chat, with what it answered; other runs repeat parts of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.catalog import JSON_FILES
from dialtools.corpora.chat import ASSISTANT, USER, messages
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected
from dialtools.corpora.native.talk import Talk, documents, known_text

THREADS = ("thread_id", "session_id", "conversation_id")
"""Keys of a run's metadata that name its thread."""
SPEAKERS = {USER: "user", ASSISTANT: "system"}
ANSWERS = ("generations", "choices", "message", "messages", "output")
"""Fields in which the makers of models put what was answered."""


def raw(files: Files) -> Iterator[Raw]:
    """Yield the run of each thread that holds its chat; `more` is the name of the thread.

    Raises:
        DataError: if no run is a chat.
    """
    best: dict[str | None, Raw] = {}
    for raw in documents(within="runs")(files):
        if not isinstance(raw.value, dict) or not _given(raw.value):
            continue
        thread = _thread(raw.value)
        if thread not in best or len(_given(raw.value)) >= len(_given(best[thread].value)):
            best[thread] = Raw(raw.where, None, raw.value, thread)
    if not best:
        files.fail(files.needed(*JSON_FILES)[0], 'no run with run_type "llm" and inputs: messages')
    yield from best.values()


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue: instructions, tools and calls of tools are no turns."""
    talk = Talk()
    answer = _answer(raw.value.get("outputs"))
    for message in talk.objects(messages([*_given(raw.value), *answer]), "messages"):
        role = str(message.get("role"))
        if role in SPEAKERS:
            with talk.hearing(message):
                talk.say(SPEAKERS[role], _text(message.get("content")))
        else:
            talk.leave("instructions" if role in ("system", "developer") else "turns of tools")
    return talk.record(id=raw.more)


def _given(run: dict[str, Any]) -> list[Any]:
    """Return the messages that a model was given; LangChain has a list of lists of them."""
    inputs = run.get("inputs") if run.get("run_type") == "llm" else None
    given = inputs.get("messages") if isinstance(inputs, dict) else None
    while isinstance(given, list) and given and isinstance(given[0], list):
        given = given[0]
    return given if isinstance(given, list) else []


def _thread(run: dict[str, Any]) -> str | None:
    extra = run.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    named = known_text(metadata, *THREADS) if isinstance(metadata, dict) else None
    return named or known_text(run, "trace_id", "id")


def _answer(value: Any) -> list[Any]:
    """Return the message of an answer, however deep it lies, or nothing of a run that failed."""
    while isinstance(value, list | dict):
        key = next((key for key in ANSWERS if isinstance(value, dict) and value.get(key)), None)
        if isinstance(value, dict) and key is None:
            known = "content" in value or "kwargs" in value or "data" in value
            text = {"role": ASSISTANT, "content": value.get("text")}
            return [value if known else text] if value else []
        value = value[key] if isinstance(value, dict) else (value[-1] if value else None)
    return [{"role": ASSISTANT, "content": value}] if value else []


def _text(content: Any) -> str:
    """Return a text, or the texts of its parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise Unexpected("content: expected a text or parts of one")
    parts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return " ".join(part for part in parts if isinstance(part, str))

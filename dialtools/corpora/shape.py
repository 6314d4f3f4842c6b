"""Dialogue records in one shape: chat-ML as chats, speakers mapped, pauses as borders.

What is not a turn of the conversation is dropped, with the reason: the instructions and tools of a
chat-ML list, turns without text, speakers that the user leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, NamedTuple

from dialtools.chance import stable_hash
from dialtools.corpora.chat import ASSISTANT, CALL, CHATS, SYSTEM
from dialtools.corpora.dialogues import (
    HISTORY,
    RESPONSE,
    SPEAKER_KEYS,
    WITHOUT_TEXT,
    field_of_turns,
    key_of_speaker,
    key_of_turns,
    naming,
    speaker_of,
)
from dialtools.corpora.fields import TURN_TEXTS, BadRecord, json_kind, without_text
from dialtools.corpora.options import EVERY_OTHER, LogOptions
from dialtools.corpora.replies import PROMPT, branches, is_tree, turns_of_tree
from dialtools.corpora.times import BadTime, seconds
from dialtools.streams.tally import Tally
from dialtools.values import composed

OF_CHATS = frozenset(CHATS)
TIME_KEYS = ("time", "timestamp", "created_at")
NO_TURNS = {
    "system": "instructions",
    "developer": "instructions",
    "tool": "turns of tools",
    "function": "turns of tools",
}

THOUGHTS = ("reasoning", "thinking")
"""Types of parts that a model writes for itself; Gemini marks them `thought`."""
THOUGHT = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
"""The same before what an open model answers."""
SILENT = frozenset(
    (
        *("toolUse", "toolResult", "reasoningContent", "cachePoint", "image", "document"),
        *("video", "audio", "functionCall", "functionResponse", "inlineData", "fileData"),
    )
)
"""Keys of parts without a type, as Bedrock and Gemini have them, that say nothing."""


class Session(NamedTuple):
    """A dialogue record, which part of a longer one it is, from 1, and how many turns it repeats.

    A branch of a tree begins with a turn that one before it has.
    """

    record: dict[str, Any]
    number: int = 1
    again: int = 0


class Shaper:
    """Turns any dialogue record into those of one shape.

    A list of one of `CHATS` with an assistant, or in which system speaks at most at the start, is a
    chat as language models have it: messages of system, developer, tool and function are no turns,
    and the assistant is the system. A role that --speaker-map names is as it says.
    """

    def __init__(self, logs: LogOptions, tally: Tally) -> None:
        self.roles = logs.roles
        self.patterns = {
            key: re.compile(re.escape(key).replace(r"\*", ".*"), re.DOTALL)
            for key in self.roles
            if EVERY_OTHER in key and key != EVERY_OTHER
        }
        self.dropped = logs.dropped_speakers
        self.gap = logs.gap_seconds
        self.style = logs.time_format
        self.tally = tally
        self.tree = logs.reply_column is not None
        self.idle = not (self.roles or self.dropped or self.gap or self.tree)

    def __call__(self, record: Mapping[str, Any]) -> Iterator[Session]:
        """Yield {"id"?, ..., "turns": [{"speaker"?, "text", ...}]}, one a session.

        A field of a turn that is null, as columns have it where rows have nothing, is not there.

        Raises:
            BadRecord: naming the field, what was expected and what was found.
        """
        tree = is_tree(record)
        key, said = (PROMPT, turns_of_tree(record)) if tree else field_of_turns(record)
        if key in OF_CHATS and isinstance(record.get(RESPONSE), dict):
            raise BadRecord(f"{key}: {CALL}")
        turns, times = self._turns(said, key)
        identity, asked = naming(record)
        taken = (key, *asked, *((RESPONSE, "speaker") if key == HISTORY else ()))
        rest = {k: v for k, v in record.items() if k not in taken}
        sessions = list(self._parts(said, turns, times, tree=tree or self.tree))
        if identity is None and len(sessions) > 1:  # they go to one part of a split by it
            identity = format(stable_hash("\n".join(turn["text"] for turn in turns)), "016x")
        for number, (session, again) in enumerate(sessions, 1):
            if identity is None:
                yield Session({**rest, "turns": session})
                continue
            name = identity if number == 1 else f"{identity}#{number}"
            yield Session({"id": name, **rest, "turns": session}, number, again)

    def _turns(self, turns: list[Any], key: str) -> tuple[list[dict[str, Any]], list[float]]:
        """Return the turns that are left, and with a gap the time of each."""
        chat = key in (*CHATS, PROMPT) and _is_chat([_role(turn) for turn in turns])
        kept: list[dict[str, Any]] = []
        times: list[float] = []
        for i, turn in enumerate(turns):
            where = f"{key}[{i}]"
            text, speaker, rest = _taken_apart(turn, where, chat=chat)
            name = composed((speaker or "").strip()).casefold()
            if reason := self._why_not(name, text, chat):
                self.tally.drop(reason)
                continue
            speaker = self._called(speaker, name, chat)
            known = {} if speaker is None else {"speaker": speaker}
            told = {name: value for name, value in rest.items() if value is not None}
            kept.append({**known, "text": text, **told})
            if self.gap:
                times.append(_time(turn, where, self.style))
        return kept, times

    def _why_not(self, name: str, text: str | None, chat: bool) -> str | None:
        if name and self.dropped and (dropped := self._dropped(name)):
            return f"turns of {dropped}"
        if chat and name in NO_TURNS and self._key(name) is None:
            return NO_TURNS[name]
        return None if text and text.strip() else WITHOUT_TEXT

    def _dropped(self, name: str) -> str | None:
        """Return what --drop-speaker calls a speaker: the name in the log, or that mapped to."""
        if name in self.dropped:
            self.tally.met.add(name)
            return name
        key = self._key(name)
        role = self.roles.get(EVERY_OTHER if key is None else key, "").casefold()
        if role not in self.dropped:
            return None
        self.tally.met |= {role, EVERY_OTHER if key is None else key}
        return role

    def _called(self, speaker: str | None, name: str, chat: bool) -> str | None:
        if speaker is None:
            return None
        key = self._key(name)
        self.tally.met.add(EVERY_OTHER if key is None else key)
        if key is not None:
            return self.roles[key]
        if chat and name == ASSISTANT:
            return SYSTEM
        if self.roles and EVERY_OTHER not in self.roles:
            self.tally.miss(speaker)
        return self.roles.get(EVERY_OTHER, speaker)

    def _key(self, name: str) -> str | None:
        """Return what --speaker-map has for a name: the name itself, else a pattern of it."""
        if name in self.roles:
            return name
        return next((key for key, p in self.patterns.items() if p.fullmatch(name)), None)

    def _parts(
        self, said: list[Any], turns: list[dict[str, Any]], times: list[float], *, tree: bool
    ) -> Iterator[tuple[list[dict[str, Any]], int]]:
        """Cut a tree of answers into its branches, and where pauses are too long.

        Beside each part stands how many of its turns a branch before has.
        """
        known: set[int] = set()
        for branch in branches(said, turns) if tree else [range(len(turns))]:
            again = int(not known.isdisjoint(branch[:1]))
            known.update(branch)
            moments = [times[place] for place in branch] if self.gap else []
            gap = self.gap or inf
            borders = [i for i in range(1, len(moments)) if moments[i] - moments[i - 1] > gap]
            for start, end in zip([0, *borders], [*borders, len(branch)], strict=True):
                yield [turns[place] for place in branch[start:end]], again
                again = 0


def holds_turns(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is a dialogue: a list of turns, or a tree of messages."""
    return key_of_turns(record) is not None or is_tree(record)


def as_turns(record: Mapping[str, Any], tally: Tally) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield chats with language models, and branches of trees, as dialogues of `turns`.

    Another record is yielded as it is. Beside each stands how many of its turns, from the first, a
    branch before has.

    Raises:
        BadRecord: naming the field, what was expected and what was found.
    """
    if not is_tree(record) and key_of_turns(record) not in OF_CHATS:
        yield record, 0
        return
    for made in Shaper(LogOptions(), tally)(record):
        yield made.record, made.again


def _role(turn: Any) -> str | None:
    role = turn.get("role") if isinstance(turn, dict) else None
    return role.casefold() if isinstance(role, str) else None


def _is_chat(roles: list[str | None]) -> bool:
    return ASSISTANT in roles or SYSTEM not in roles[1:]


def _taken_apart(
    turn: Any, where: str, *, chat: bool
) -> tuple[str | None, str | None, dict[str, Any]]:
    """Return text (None: a message without one), speaker, and the other fields."""
    if isinstance(turn, str | None):
        return turn, None, {}
    if not isinstance(turn, dict):
        raise BadRecord(f"{where}: expected a string or an object, got {json_kind(turn)}")
    text_key = next((k for k in TURN_TEXTS if k in turn), None)
    silent = chat and _role(turn) in (ASSISTANT, *NO_TURNS)  # it may call a tool, and say nothing
    if text_key is None and not silent:
        raise without_text(turn, where)
    speaker_key = key_of_speaker(turn)
    speaker = speaker_of(turn[speaker_key], f"{where}.{speaker_key}") if speaker_key else None
    text = _text(turn.get(text_key), f"{where}.{text_key}")
    if text and chat and _role(turn) == ASSISTANT and (thought := THOUGHT.match(text)):
        text = text[thought.end() :]
    taken = (text_key, speaker_key, SPEAKER_KEYS[0])  # the last may be blank beside another
    rest = {k: v for k, v in turn.items() if k not in taken}
    return text, speaker, rest


def _text(content: Any, where: str) -> str | None:
    """Return a text, or the texts of a list of parts, without pictures, sounds, tools, thoughts."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRecord(f"{where}: expected a string, got {json_kind(content)}")
    texts = []
    for i, part in enumerate(content):
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(part, dict) and (part.get("type") in THOUGHTS or part.get("thought") is True):
            continue
        if isinstance(text, str):
            texts.append(text)
        elif text is not None or not _is_silent(part):
            kind = json_kind(part if text is None else text)
            raise BadRecord(f"{where}[{i}]: expected a part with a text, got {kind}")
    return " ".join(texts) if texts else None


def _is_silent(part: Any) -> bool:
    """Tell whether a part of a message is of a type that has no text; Bedrock's are a key each."""
    if not isinstance(part, dict):
        return False
    return part["type"] != "text" if "type" in part else not SILENT.isdisjoint(part)


def _time(turn: Any, where: str, style: str | None) -> float:
    key = next((k for k in TIME_KEYS if k in turn), None) if isinstance(turn, dict) else None
    if key is None:
        names = f"{', '.join(TIME_KEYS[:-1])} or {TIME_KEYS[-1]}"
        raise BadRecord(f"{where}: no {names}, which --session-gap needs")
    try:
        return seconds(turn[key], style)
    except BadTime as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise BadRecord(f"{where}.{key}: {error}{hint}") from None

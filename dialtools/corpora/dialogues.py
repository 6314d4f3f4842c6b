"""Records to dialogues: the dialects of `turns`, checked field by field."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

from dialtools.corpora.chat import CHATS, messages
from dialtools.corpora.fields import (
    TEXT_KEYS,
    TURN_TEXTS,
    BadRecord,
    as_text,
    json_kind,
    name,
    unwrapped,
    without_text,
)

HISTORY, RESPONSE = "history", "response"
SPEAKERS = "speakers"
"""Who says each turn, beside turns that are texts."""
TURN_KEYS = ("turns", "dialogue", "messages", "conversations")
NAMED_LIKE_IDS = (
    *("dialog", "conversation", "chat", "thread", "transcript", "utterances", "contents"),
)
"""Fields of turns where no text stands beside them; beside one they tell whose it is."""
NO_TURNS, NULL_TURNS = 'no "turns"', '"{}" is null'
WITHOUT_TEXT = "turns without text"
"""Why a turn is left out: one of null or blanks is none, and its neighbours follow each other."""
DOMAIN = "domain"
SENDER_KEYS = (
    *("author_role", "author_type", "sender_role", "sender_type", "sender_class", "sender", "from"),
)
"""Of logs of chats, the role before the name; an object tells more of the sender, not who it is."""
SPEAKER_KEYS = ("speaker", "role", "author", *SENDER_KEYS)
IDS = (
    "id",
    "dialogue_id",
    "dialog_id",
    "conversation_id",
    "session_id",
    "thread_id",
    "chat_id",
    "ticket_id",
    "message_tree_id",
)
"""Fields of what a dialogue is called by; the first that has a name."""
DIALOGUE_FIELDS = (
    *(*TURN_KEYS, *NAMED_LIKE_IDS, *TEXT_KEYS, HISTORY, RESPONSE),
    *("speaker", SPEAKERS, *IDS, DOMAIN),
)
"""All that a dialogue of turns is read from."""


class Dialogue(NamedTuple):
    """A dialogue: t texts in order, who said each (None if unknown), and what it is about.

    Attributes:
        session: which part of a longer one it is, from 1; the id of all but the first tells, too.
        read: what chance knows it by, if its texts are no longer as they were read.
    """

    id: str | None
    texts: list[str]
    speakers: list[str | None]
    domain: str | None = None
    session: int = 1
    read: str | None = None

    def spoken(self) -> Dialogue:
        """Return the dialogue without its turns that have no text."""
        if all(self.texts):
            return self
        texts = [text for text in self.texts if text]
        speakers = [who for who, text in zip(self.speakers, self.texts, strict=True) if text]
        return self._replace(texts=texts, speakers=speakers)


def dialogue(record: Mapping[str, Any]) -> Dialogue:
    """Return the dialogue of a record.

    Raises:
        BadRecord: naming the field, what was expected and what was found.
    """
    key, turns = field_of_turns(record)
    try:  # the common dialect, fast
        texts = [t["text"].strip() for t in turns]
        speakers = [t["speaker"] if t["speaker"].strip() else None for t in turns]
        common = None not in speakers
    except (KeyError, TypeError, AttributeError):
        common = False
    if not common:
        pairs = [_turn(turn, f"{key}[{i}]") for i, turn in enumerate(turns)]
        texts = [text for text, _ in pairs]
        speakers = [speaker for _, speaker in pairs]
    about = record.get(DOMAIN)
    domain = about if isinstance(about, str) else None
    return Dialogue(naming(record)[0], texts, speakers, domain)


def known_by(name: str | None, texts: Iterable[str]) -> str:
    """Return what chance knows a dialogue by: its name, else its texts. Same text, same part.

    Records keep the blanks at the ends of texts, which pairs have not.
    """
    return "\n".join(text.strip() for text in texts) if name is None else name


def uncut(identity: str, session: int) -> str:
    """Return what a dialogue was called before --session-gap cut it: its sessions share a part."""
    return identity.removesuffix(f"#{session}") if session > 1 else identity


def naming(record: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """Return what a dialogue is called by, None of one without a name, and the fields asked for it.

    Raises:
        BadRecord: if it is neither a text nor a number.
    """
    for number, key in enumerate(IDS, 1):
        name = identity_of(record.get(key), key)
        if name is not None:
            return name, IDS[:number]
    return None, IDS


def whose(record: Mapping[str, Any]) -> str | None:
    """Return what the dialogue of an utterance is called by, else the utterance itself.

    Raises:
        BadRecord: if a name is neither a text nor a number.
    """
    names = (identity_of(record.get(key), key) for key in (*IDS[1:], IDS[0]))
    return next((name for name in names if name is not None), None)


def key_of_turns(fields: Container[str]) -> str | None:
    """Return which of a record's fields holds turns, if one does."""
    key = next((key for key in TURN_KEYS if key in fields), None)
    if key is None and not any(key in fields for key in (*TEXT_KEYS, RESPONSE)):
        key = next((key for key in NAMED_LIKE_IDS if key in fields), None)
    return key


def field_of_turns(record: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the name of the field that holds the turns of a record, and the turns.

    The response of a record with a history is the last turn of that history.

    Raises:
        BadRecord: if it has none, or something else than a list.
    """
    key = key_of_turns(record)
    if key is None and HISTORY in record and RESPONSE in record:
        key = HISTORY
    if key is None or (key in NAMED_LIKE_IDS and type(record[key]) not in (list, dict)):
        raise BadRecord(NO_TURNS)
    turns = _in_rows(record[key])
    if turns is None:
        raise BadRecord(NULL_TURNS.format(key))
    if type(turns) is not list:
        raise BadRecord(f'"{key}" must be a list')
    if key != HISTORY:
        return key, messages(turns) if key in CHATS else _spoken(turns, record.get(SPEAKERS))
    if not isinstance(record[RESPONSE], str):
        raise BadRecord(f"{RESPONSE}: expected a string, got {json_kind(record[RESPONSE])}")
    return key, [*turns, {"text": record[RESPONSE], "speaker": record.get("speaker")}]


def _spoken(turns: list[Any], speakers: Any) -> list[Any]:
    """Return texts with who says each, if that stands in a list of as many names; else as is."""
    if type(speakers) is not list or len(speakers) != len(turns):
        return turns
    if not all(isinstance(part, str | None) for part in (*turns, *speakers)):
        return turns
    pairs = zip(turns, speakers, strict=True)
    return [{"speaker": speaker, "text": text} for text, speaker in pairs]


def _in_rows(turns: Any) -> Any:
    """Return an object of lists of one length, as `datasets` writes turns, as a list of objects.

    What is anything else is returned as it is.
    """
    if type(turns) is not dict or not all(type(values) is list for values in turns.values()):
        return turns
    if len({len(values) for values in turns.values()}) != 1:
        return turns
    return [dict(zip(turns, row, strict=True)) for row in zip(*turns.values(), strict=True)]


def identity_of(value: Any, field: str) -> str | None:
    """Return what something is called by, as text; None if it has no name.

    Blanks are no name, nor is NaN, which pandas has for a gap among numbers.

    Raises:
        BadRecord: if it is neither a text nor a number.
    """
    if type(value) is str:
        return value if value.strip() else None
    value = unwrapped(value)
    if value is None or value != value:
        return None
    name(value, field)
    return called(value)


def called(value: Any) -> str | None:
    """Return an id or a speaker's name as text.

    Numbers and booleans are names, too; blanks, gaps in a column of numbers, and what has parts,
    are none.
    """
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, dict):
        value = unwrapped(value)
        return called(value) if not isinstance(value, dict) else None
    if isinstance(value, list | None):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return as_text(value)


def speaker_of(value: Any, where: str) -> str | None:
    """Return who speaks, as text; data sets have numbers for it, too.

    Raises:
        BadRecord: if it has parts.
    """
    value = unwrapped(value)
    if isinstance(value, dict | list):
        raise BadRecord(f"{where}: expected a string, got {json_kind(value)}")
    return called(value)


def key_of_speaker(turn: Mapping[str, Any]) -> str | None:
    """Return which field of a turn tells who speaks: the first that says something, if one does."""
    there = [key for key in SPEAKER_KEYS if key in turn and not _is_blank(turn[key])]
    return next((key for key in there if key not in SENDER_KEYS or called(turn[key])), None)


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _turn(turn: Any, where: str) -> tuple[str, str | None]:
    if isinstance(turn, str | None):
        return (turn or "").strip(), None
    if not isinstance(turn, dict):
        raise BadRecord(f"{where}: expected a string or an object, got {json_kind(turn)}")
    key = next((k for k in TURN_TEXTS if k in turn), None)
    if key is None:
        raise without_text(turn, where)
    text = "" if turn[key] is None else turn[key]  # as tables write what is not there
    if not isinstance(text, str):
        raise BadRecord(f"{where}.{key}: expected a string, got {json_kind(text)}")
    said_by = key_of_speaker(turn)
    return text.strip(), speaker_of(turn[said_by], f"{where}.{said_by}") if said_by else None

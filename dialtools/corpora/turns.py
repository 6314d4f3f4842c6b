"""How a field of a record reads as turns, oldest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialtools.corpora.dialogues import is_user
from dialtools.errors import DataError, nearest
from dialtools.streams.policy import Where

UNKNOWN, USER, SYSTEM = 0, 1, 2
EMPTY = "."
"""Stands for an empty text, which must not reach the encoder (METHODS 1.3)."""

Turns = tuple[tuple[str, ...], tuple[int, ...] | None]
"""The turns of a field, oldest first, and the roles of their speakers if known."""

Record = tuple[Where, dict[str, Any]]
"""A record and its place."""


def turns_of(record: Mapping[str, Any], name: str) -> Turns:
    """Return the turns of a field.

    Raises:
        ValueError: if it is neither a text nor a list of turns.
    """
    if "+" in name:
        return _joined([turns_of(record, part) for part in name.split("+")])
    value = record.get(name)
    if isinstance(value, str):
        return (value if value.strip() else EMPTY,), _said(record, name)
    if not isinstance(value, list) or not value:
        raise ValueError(f"{name}: expected a text or a list of turns")
    texts = tuple(turn.get("text") if isinstance(turn, dict) else turn for turn in value)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name}: expected texts")
    if all(isinstance(turn, dict) for turn in value):
        return texts, tuple(_role(turn.get("speaker")) for turn in value)
    speakers = record.get("speakers") or ()
    roles = (
        tuple(map(_role, speakers[: len(texts)]))
        if len(speakers) >= len(texts)
        else (UNKNOWN,) * len(texts)
    )
    return tuple(text if text.strip() else EMPTY for text in texts), roles


def _joined(parts: Sequence[Turns]) -> Turns:
    """Return the turns of several fields as one list."""
    texts = tuple(text for part, _ in parts for text in part)
    return texts, tuple(role for part, roles in parts for role in roles or (UNKNOWN,) * len(part))


def _said(record: Mapping[str, Any], name: str) -> tuple[int] | None:
    """A response is somebody's turn; any other single text is nobody's."""
    if name != "response":
        return None
    speakers = record.get("speakers")
    return (_role(speakers[-1]) if speakers else SYSTEM,)


def _role(speaker: Any) -> int:
    return UNKNOWN if not isinstance(speaker, str) else USER if is_user(speaker) else SYSTEM


def given(where: Where, record: Mapping[str, Any], name: str) -> Any:
    """Return a field of a record.

    Raises:
        DataError: if it is not there, or null.
    """
    if record.get(name) is None:
        raise DataError(
            f"no field {name!r}; there are {', '.join(record) or 'none'}",
            where=where,
            hint=nearest(name, list(record)),
        )
    return record[name]


def column_of_turns(records: Sequence[Record], name: str) -> list[Turns]:
    """Return the turns of a field of all records; `a+b` reads two fields as one list of turns.

    Raises:
        DataError: for the first record that lacks it, or has something else there.
    """
    items = []
    for where, record in records:
        for part in name.split("+"):
            given(where, record, part)
        try:
            items.append(turns_of(record, name))
        except ValueError as error:
            raise DataError(str(error), where=where) from None
    return items

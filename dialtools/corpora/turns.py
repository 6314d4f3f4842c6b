"""A field of a record as turns, oldest first, and who said each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialtools.corpora.fields import BadRecord, Check, names, refuse, text_of_turn, turns
from dialtools.errors import DataError, nearest
from dialtools.roles import SYSTEM, UNKNOWN, not_empty, role_of
from dialtools.shown import listed, quoted
from dialtools.streams.policy import Where

Turns = tuple[tuple[str, ...], tuple[int, ...] | None]
"""The turns of a field, oldest first, and the roles of their speakers if known."""

Record = tuple[Where, dict[str, Any]]
"""A record and its place."""

QUERIES = ("context", "history", "query", "question")
"""Fields that are a query, the usual one first."""


def query_field(record: Record, *, hint: str | None = None) -> str:
    """Return the field that is a record's query.

    Raises:
        DataError: naming the fields there are, if none is one.
    """
    where, fields = record
    name = next((name for name in QUERIES if fields.get(name) is not None), None)
    if name is None:
        wanted = f"{', '.join(QUERIES[:-1])} or {QUERIES[-1]}"
        raise DataError(f"no field {wanted}; there are {listed(fields)}", where=where, hint=hint)
    return name


def turns_of(record: Mapping[str, Any], name: str) -> Turns:
    """Return the turns of a field, ready for the encoder: none of them is empty.

    Raises:
        BadRecord: if it is neither a text nor a list of turns.
    """
    if "+" in name:
        parts = [part for part in name.split("+") if record.get(part) != []]
        if parts:
            return _joined([turns_of(record, part) for part in parts])

    value = record.get(name)
    if isinstance(value, str):
        return (not_empty(value),), _role_of_text(record, name)
    if not isinstance(value, list):
        refuse(name, "a text or a list of turns", value)
    if not value:
        raise BadRecord(f"{name}: expected a text or a list of turns, got an empty one")

    turns(value, name)
    texts = tuple(not_empty(text_of_turn(turn)) for turn in value)
    return texts, _roles_of_turns(record, value)


def _joined(fields: Sequence[Turns]) -> Turns:
    """Return the turns of several fields as one list."""
    texts: list[str] = []
    roles: list[int] = []
    for field_texts, field_roles in fields:
        texts += field_texts
        roles += field_roles or (UNKNOWN,) * len(field_texts)
    return tuple(texts), tuple(roles)


def _role_of_text(record: Mapping[str, Any], name: str) -> tuple[int] | None:
    """A response is somebody's turn; any other single text is nobody's."""
    if name != "response":
        return None
    speakers = _speakers(record)
    return (role_of(speakers[-1]) if speakers else SYSTEM,)


def _speakers(record: Mapping[str, Any]) -> list[str | None]:
    speakers = record.get("speakers")
    if speakers is not None and type(speakers) is not list:
        names(speakers, "speakers")
    return speakers or []


def _roles_of_turns(record: Mapping[str, Any], turns: list[Any]) -> tuple[int, ...]:
    """Return who said each turn: by the turns themselves, else by the record's `speakers`."""
    if all(isinstance(turn, dict) for turn in turns):
        return tuple(role_of(turn.get("speaker")) for turn in turns)
    speakers = _speakers(record)
    if len(speakers) < len(turns):
        return (UNKNOWN,) * len(turns)
    return tuple(map(role_of, speakers[: len(turns)]))


def field_of(where: Where, record: Mapping[str, Any], name: str, check: Check | None = None) -> Any:
    """Return a field of a record.

    Raises:
        DataError: if it is not there, or null, or does not pass the check.
    """
    if name in record and record[name] is None:
        raise DataError(f"{quoted(name)} is null", where=where)
    if name not in record:
        raise DataError(
            f"no field {quoted(name)}; there are {listed(record) or 'none'}",
            where=where,
            hint=nearest(name, list(record)),
        )
    if check:
        try:
            check(record[name], name)
        except BadRecord as error:
            raise DataError(str(error), where=where) from None
    return record[name]


def column_of_turns(records: Sequence[Record], name: str) -> list[Turns]:
    """Return the turns of a field of all records; `a+b` reads two fields as one list of turns.

    Raises:
        DataError: for the first record that lacks it, or has something else there.
    """
    column = []
    for where, record in records:
        for part in name.split("+"):
            field_of(where, record, part)
        try:
            column.append(turns_of(record, name))
        except ValueError as error:
            raise DataError(str(error), where=where) from None
    return column


def shared_fields(records: Sequence[Record]) -> dict[str, list[Any]]:
    """Return the fields that all records have, as columns."""
    first = records[0][1] if records else {}
    names = [name for name in first if all(name in fields for _, fields in records)]
    return {name: [fields[name] for _, fields in records] for name in names}

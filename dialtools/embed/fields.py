"""What of a record is embedded, and what is carried along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialtools.corpora.dialogues import key_of_turns
from dialtools.corpora.likely import text_flag
from dialtools.errors import ConfigError, nearest
from dialtools.shown import listed, quoted
from dialtools.streams.vectors import OFFERED

NEAREST_TEMPLATE = "nearest_template"
"""The column of the template that is nearest to a text."""


def choose_fields(named: Sequence[str], first: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields to embed: those named, or what the first record offers.

    Raises:
        ConfigError: if it has none of them, naming those it has.
    """
    there = f"there are {listed(first)}"
    if not named:
        offered = (names for names in OFFERED if not _missing(names, first))
        if chosen := next(offered, None):
            return chosen
        turns = "dial-pairs --kind utterance makes a text of each turn (dial-embed has --per turn)"
        said = first.get(key_of_turns(first) or "")
        hint = turns if isinstance(said, list | dict) else text_flag(first)
        hint = hint or "name one with --field"
        raise ConfigError(f"no field text in the input; {there}", hint=hint)
    if missing := _missing(named, first):
        hint = nearest(missing[0], list(first))
        raise ConfigError(f"no field {quoted(missing[0])} in the input; {there}", hint=hint)
    return tuple(named)


def _missing(names: Sequence[str], record: Mapping[str, Any]) -> list[str]:
    """Return what a record lacks of some fields, each of which may be several joined by +."""
    parts = [part for name in names for part in name.split("+")]
    return [part for part in parts if part not in record]


def vector_name(name: str, fields: Sequence[str]) -> str:
    """Return the column of a field's vectors: `embedding`, or `context_embedding`, ..."""
    return "embedding" if len(fields) == 1 else f"{name}_embedding"


def carried(records: Sequence[Mapping[str, Any]], keep: Sequence[str]) -> list[str]:
    """Return the names of the fields to carry along, in order of first occurrence.

    Raises:
        ConfigError: if one that was asked for is not there.
    """
    known = list(dict.fromkeys(name for record in records for name in record))
    if tuple(keep) == ("none",):
        return []
    if tuple(keep) == ("all",):
        return known
    for name in keep:
        if name not in known:
            raise ConfigError(
                f"--keep: no field {quoted(name)}; there are {listed(known)}",
                hint=nearest(name, known),
            )
    return list(keep)

"""Records to utterances with slots: the dialects of both, checked field by field.

Offsets count characters; an end is exclusive: text[start:end] is the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dialtools.corpora.fields import BadRecord, json_kind
from dialtools.shown import listed
from dialtools.streams.tally import counted
from dialtools.values import composed

ANNOTATED = ("annot_utt", "answer_annotation")
NAMES = {
    "text": ("text", "utt", "utterance", "query", *ANNOTATED),
    "label": ("label", "intent"),
    "split": ("split", "partition"),
}
BRACKETED = re.compile(r"\[\s*+([^\[\]:]++):\s*+([^\[\]]++)\]")


class Span(NamedTuple):
    """A value in a text, and what it is."""

    start: int
    end: int
    label: str


def utterance(record: Mapping[str, Any]) -> tuple[str, list[Span] | None, dict[str, Any]]:
    """Return the text of a record, its slots (None: nobody marked any), and its other fields.

    It has `text` and `slots`, or the `[type : value]` notation of MASSIVE and HWU64. The fields
    name label and split as dialtools does, whatever the record called them.

    Raises:
        BadRecord: naming the field, what was expected and what was found.
    """
    key = next((name for name in NAMES["text"] if name in record), None)
    if key is None:
        raise BadRecord(f'no "text"; there are {listed(record) or "no fields"}')
    annotated = next((name for name in ANNOTATED if name in record), None)
    text = record[annotated or key]
    if not isinstance(text, str):
        raise BadRecord(f"{annotated or key}: expected a string, got {json_kind(text)}")
    spans = None
    if annotated:
        text, spans = bracketed(text)
    elif record.get("slots") is not None:
        spans = slots(record["slots"], text)
    taken = {*ANNOTATED, key, "slots"}
    fields = {name: value for name, value in record.items() if name not in taken}
    for name, dialects in NAMES.items():
        present = next((dialect for dialect in dialects if dialect in fields), None)
        if present is not None and present != name:
            fields[name] = fields.pop(present)
    return text, spans, fields


def slots(value: Any, text: str, name: str = "slots") -> list[Span]:
    """Return the spans of a list of {"start", "end", "label"}, without the blanks at their ends.

    Raises:
        BadRecord: naming the one that lies outside the text, or is no span.
    """
    if not isinstance(value, list):
        raise BadRecord(f"{name}: expected a list, got {json_kind(value)}")
    spans = (_span(slot, text, f"{name}[{i}]") for i, slot in enumerate(value))
    return [span for span in spans if span.start < span.end]


def _span(slot: Any, text: str, where: str) -> Span:
    """Return the span of one slot; an empty one if it is of blanks alone."""
    if not isinstance(slot, dict):
        raise BadRecord(f"{where}: expected an object, got {json_kind(slot)}")
    start, end = slot.get("start"), slot.get("end")
    end = slot.get("exclusive_end") if end is None else end
    label = slot.get("label", slot.get("slot"))
    told = {"start": start, "end": end, "label": label}
    if missing := [name for name, value in told.items() if value is None]:
        there = listed(slot) or "no fields"
        raise BadRecord(f"{where}: no {' and no '.join(missing)}; there are {there}")
    start, end = _offset(start), _offset(end)
    if type(start) is not int or type(end) is not int or not 0 <= start <= end <= len(text):
        raise BadRecord(
            f"{where}: {start!r} to {end!r} is no part of a text of "
            f"{counted(len(text), 'character')}"
        )
    if not isinstance(label, str) or not label.strip() or set(label) & set("{}"):
        raise BadRecord(f"{where}.label: expected a name without braces, got {label!r}")
    value = text[start:end]
    return Span(end - len(value.lstrip()), start + len(value.rstrip()), composed(label.strip()))


def _offset(value: Any) -> Any:
    """Return a whole number as one: pandas has floats in a column with gaps."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def bracketed(text: str) -> tuple[str, list[Span]]:
    """Return `wake me at [time : nine am]` as a text and its spans."""
    parts: list[str] = []
    spans: list[Span] = []
    at = 0
    length = 0  # of the text without the notation, so far
    for match in BRACKETED.finditer(text):
        before, label, value = text[at : match.start()], match[1].rstrip(), match[2].rstrip()
        parts += [before, value]
        length += len(before)
        spans.append(Span(length, length + len(value), label))
        length += len(value)
        at = match.end()
    return "".join([*parts, text[at:]]), spans


def apart(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order of which none overlaps another.

    Of those that do, the longest stays, then the first.
    """
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start - s.end, s.start, s.label)):
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return sorted(kept)

"""What readers of published corpora share: a raw record, its place, and fields taken from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from math import isfinite
from typing import Any, NamedTuple

from dialtools.corpora.fields import JSON_KINDS, json_kind
from dialtools.corpora.native.files import Files, split_of_name
from dialtools.streams.policy import Where
from dialtools.streams.tally import counted

NAMES_TOLD = 8
LEFT_OUT = "left_out"
"""Of a record: what of it is no turn, {reason: number}; it is counted, and taken off."""
BAD = "bad"
"""Of a record: what of it cannot be read, with the reason; a bad record each, and taken off."""
FACTS = "facts"
"""Of a record: other figures of it, {name: number}, which are added up, and taken off."""
UNTIMED = "turns of which the time cannot be told"
Bad = tuple[str, Any]


class Raw(NamedTuple):
    """A record as it was published.

    Attributes:
        split: train, val or test, if the corpus tells.
        more: what the reader found beside it (another file's part, say).
    """

    where: Where
    split: str | None
    value: Any
    more: Any = None


Reader = Callable[[Files], Iterator[Raw]]
ReadFile = Callable[[Files, str], Iterator[Raw]]


class Unexpected(ValueError):
    """A record of another layout; the message says what was expected and what was found."""


def field(record: Any, name: str, kind: type, *, default: Any = ...) -> Any:
    """Return a field of a record.

    Args:
        default: what a record has that lacks it, or has null.

    Raises:
        Unexpected: if it lacks it, naming the fields it has, or the field is of another kind.
    """
    if not isinstance(record, dict):
        raise Unexpected(f"expected an object with {name!r}, found {json_kind(record)}")
    value = record.get(name)
    if value is None:
        if default is not ...:
            return default
        if name in record:
            raise Unexpected(f"{name}: expected {JSON_KINDS[kind]}, found null")
        there = ", ".join(map(repr, list(record)[:NAMES_TOLD])) or "no field at all"
        raise Unexpected(f"expected {name!r}, found {there}")
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise Unexpected(f"{name}: expected {JSON_KINDS[kind]}, found {json_kind(value)}")
    return value


def strings(record: Any, name: str) -> list[str]:
    """Return a field that is a list of strings; an empty one if a record lacks it.

    Raises:
        Unexpected: if it is another thing.
    """
    values = field(record, name, list, default=[])
    for value in values:
        if not isinstance(value, str):
            raise Unexpected(f"{name}: expected strings, found {json_kind(value)}")
    return values


def known(table: dict[str, str], value: Any, name: str) -> str:
    """Return what a value stands for.

    Raises:
        Unexpected: if the table has no such value.
    """
    if not isinstance(value, str) or value not in table:
        raise Unexpected(f"{name}: expected {' or '.join(table)}, found {value!r}")
    return table[value]


@contextmanager
def one_file(files: Files, name: str) -> Generator[None]:
    """Read one of the files in this block: under --on-error skip a broken one is left out.

    What is of another layout there is the fault of the file, and not of a record.
    """
    with files.one_of_many():
        try:
            yield
        except Unexpected as error:
            files.fail(name, str(error))


def each_file(*patterns: str) -> Callable[[ReadFile], Reader]:
    """Make a reader of one file, by its name, one of every file whose name ends like a pattern."""

    def of_all(read: ReadFile) -> Reader:
        @wraps(read)
        def raw(files: Files) -> Iterator[Raw]:
            for name in files.needed(*patterns):
                with one_file(files, name):
                    yield from read(files, name)

        return raw

    return of_all


def items(*patterns: str, what: str = "dialogues") -> Reader:
    """Make a reader of the items of JSON files that are lists, numbered from 1."""
    return each_file(*patterns)(
        lambda files, name: numbered(files, name, json_items(files, name, what=what))
    )


def lines(*patterns: str) -> Reader:
    """Make a reader of the records of JSON Lines files."""
    return each_file(*patterns)(lambda files, name: numbered(files, name, files.json_records(name)))


def text_lines(*patterns: str) -> Reader:
    """Make a reader of the lines of text files that are not empty."""
    return each_file(*patterns)(lambda files, name: numbered(files, name, files.lines(name)))


def numbered(
    files: Files, name: str, found: Iterable[tuple[int, Any]], more: Any = None
) -> Iterator[Raw]:
    """Return what is found in a file, each by its number; the split is that of the file's name."""
    split = split_of_name(name)
    return (Raw(files.where(name, number), split, item, more) for number, item in found)


def json_items(files: Files, name: str, *, what: str = "dialogues") -> Iterator[tuple[int, Any]]:
    """Return the items of one JSON file, by its name, numbered from 1."""
    content = files.json(name)
    if not isinstance(content, list):
        raise Unexpected(f"expected a list of {what}, found {json_kind(content)}")
    return enumerate(content, 1)


def turn(
    speaker: str | None,
    text: str,
    *,
    slots: list[dict[str, Any]] | None = None,
    acts: list[str] | None = None,
) -> dict[str, Any]:
    """Return a turn; without slots or acts if nobody marked any.

    An empty list says that somebody looked, and found none.
    """
    return stated(speaker=speaker or None, text=text, slots=slots, acts=acts)


def slot(start: int, end: int, label: str) -> dict[str, Any]:
    """Return a slot: offsets in characters, the end exclusive."""
    return {"start": start, "end": end, "label": label}


def dialogue(
    raw: Raw, turns: list[dict[str, Any]], *, id: str | None = None, domain: str | None = None
) -> dict[str, Any]:
    """Return a dialogue record; what is not known is left out."""
    return stated(id=id, split=raw.split, domain=domain) | {"turns": turns}


def stated(**facts: Any) -> dict[str, Any]:
    """Return the fields of a record that are known, those that are not None."""
    return {name: value for name, value in facts.items() if value is not None}


def occurrences(text: str, values: dict[str, Any] | list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return the slots of values where they stand in a text, as whole words, the case apart.

    The values are {label: value}, or pairs of both. Each is marked at its first place that is free;
    of two that overlap the longer one stays.
    """
    slots: list[dict[str, Any]] = []
    lowered = text.lower()
    # a few letters change their length with their case, and places in the text must stay
    whole = lowered if len(lowered) == len(text) else text
    pairs = values.items() if isinstance(values, dict) else values
    said = dict.fromkeys((k, v) for k, v in pairs if isinstance(v, str) and v.strip())
    for label, value in sorted(said, key=lambda pair: -len(pair[1])):
        for match in re.finditer(rf"(?<!\w){re.escape(value.strip().lower())}(?!\w)", whole):
            if all(match.end() <= s["start"] or s["end"] <= match.start() for s in slots):
                slots.append(slot(*match.span(), label))
                break
    return sorted(slots, key=lambda s: s["start"])


def table(
    *patterns: str, delimiter: str = ",", quoted: bool = True, header: Sequence[str] = ()
) -> Reader:
    """Make a reader of the rows of tables, `more` their header; `columns` makes a record of one.

    Args:
        header: the columns of files that have no header: whose first row is none of these names.
    """

    @each_file(*patterns)
    def raw(files: Files, name: str) -> Iterator[Raw]:
        names: Sequence[str] = ()
        for number, fields in files.rows(name, delimiter, quoted=quoted):
            if not names:
                names = header if header and not set(header) & set(fields) else fields
                if names is fields:
                    continue
            yield Raw(files.where(name, number), split_of_name(name), fields, names)

    return raw


def columns(raw: Raw) -> dict[str, str]:
    """Return the row of a table by the names of its columns.

    Raises:
        Unexpected: if it has more or fewer fields than the header.
    """
    if len(raw.value) != len(raw.more):
        names = ", ".join(raw.more[:NAMES_TOLD])
        raise Unexpected(
            f"expected {counted(len(raw.more), 'field')} ({names}), found {len(raw.value)}"
        )
    return dict(zip(raw.more, raw.value, strict=True))


def utterance(
    raw: Raw,
    text: str,
    label: str | None,
    *,
    slots: list[dict[str, Any]] | None = None,
    **rest: str | None,
) -> dict[str, Any]:
    """Return an utterance record; what is not known is left out, slots if nobody marked any."""
    return stated(text=text, label=label, split=raw.split, **rest, slots=slots)


def two_texts(
    raw: Raw,
    entry: Any,
    first: str = "sentence1",
    second: str = "sentence2",
    **rest: str | float | None,
) -> dict[str, Any]:
    """Return a record of two fields with a label or a score; what is not known is left out.

    Raises:
        Unexpected: if a field is missing, or no text.
    """
    texts = {"text1": field(entry, first, str), "text2": field(entry, second, str)}
    return stated(**texts, **rest, split=raw.split)


def number(value: str, name: str) -> float:
    """Return a number that stands in a table.

    Raises:
        Unexpected: if it is none.
    """
    try:
        if isfinite(parsed := float(value)):
            return parsed
    except ValueError:
        pass
    raise Unexpected(f"{name}: expected a number, found {value!r}")


def token_spans(text: str, tokens: list[Any]) -> list[tuple[int, int]]:
    """Return where each token stands in a text: offsets in characters, the end exclusive.

    Raises:
        Unexpected: if the text has not all of them in that order.
    """
    places: list[tuple[int, int]] = []
    end = 0
    for token in tokens:
        start = text.find(token, end) if isinstance(token, str) else -1
        if start < 0:
            raise Unexpected(f"tokens: {token!r} is not in the text after character {end}")
        end = start + len(token)
        places.append((start, end))
    return places


def name_and_value(entry: Any, name: str) -> tuple[str, Any]:
    """Return a pair that is a list of two.

    Raises:
        Unexpected: if it is another thing.
    """
    match entry:
        case [str(label), value]:
            return label, value
    raise Unexpected(f"{name}: expected [slot, value], found {str(entry)[:80]}")

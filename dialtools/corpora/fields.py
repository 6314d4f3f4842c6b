"""What the fields of records may hold: one check a kind of field, one table a kind of record.

A check takes a value and the name of its place, and raises BadRecord if the value is of another
kind. A field that is null is one that is not there; what a record may lack is its reader's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dialtools.shown import listed, quoted
from dialtools.streams.carried import Carried
from dialtools.values import composed

Check = Callable[[Any, str], None]

TEXT_KEYS = ("text", "utterance", "content")
"""What the text of a record is called, in one dialect or another."""
TURN_TEXTS = (*TEXT_KEYS, "message", "body")
"""What the text of a turn is called. Of a record the last two may be anything."""
BETWEEN_TURNS = " / "
"""Where the turns of a history are shown in one line."""
FIRST = ("premise", "text1", "sentence1")
SECOND = ("hypothesis", "text2", "sentence2")
"""What two texts are called that are compared."""
ASKED = ("anchor", "question", "query", "prompt", "instruction", "sent0", *FIRST)
ANSWERED = ("positive", "answer", "response", "completion", "output", "sent1", *SECOND)
"""What two texts are called that belong together."""
LABELS = ("label", "intent")
"""What the class of a text is called."""
INFERRED = ("entailment", "negative", "contradiction", "hard_neg")
"""What texts are called that follow from another, or contradict it."""
JSON_KINDS: dict[type, str] = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
MOST_TURNS = 1 << 31
"""Places in a dialogue are 32-bit numbers, in stores and in tables."""
HEAVIEST = 1e30
"""Sums of many such weights are still 32-bit numbers."""


class BadRecord(ValueError):
    """A record that is not what it should be; the message names the field."""


def json_kind(value: Any) -> str:
    """Return the JSON name of a value's type."""
    if value is None:
        return "null"
    return JSON_KINDS.get(type(value)) or getattr(value, "kind", type(value).__name__)


def unwrapped(value: Any) -> Any:
    """Return a value without what MongoDB's JSON has around it, as in `{"$oid": "5f1a"}`."""
    while type(value) is dict and len(value) == 1 and next(iter(value)).startswith("$"):
        value = next(iter(value.values()))
    return value


def refuse(where: str, expected: str, value: Any) -> None:
    """Say what was expected and what is there."""
    raise BadRecord(f"{where}: expected {expected}, got {json_kind(value)}")


def text(value: Any, where: str) -> None:
    """A text."""
    if not isinstance(value, str):
        refuse(where, "a string", value)


def is_known(label: Any) -> bool:
    """Tell whether there is a label: a CSV has blanks where there is none, pandas NaN.

    A list of labels may hold none.
    """
    blank = not label.strip() if isinstance(label, str) else label in (None, [])
    return not blank and label == label


def as_text(value: Any) -> str:
    """Return a label or a name as text: what one is to any command, in whatever kind of file.

    Whole numbers are floats in a column with gaps; true and false are as JSON has them. What looks
    the same is the same, whether an accent is a character of its own or not.
    """
    if isinstance(value, str):
        return composed(value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def alike(labels: Iterable[str]) -> list[list[str]]:
    """Return groups of labels that case and blanks alone tell apart."""
    groups: dict[str, list[str]] = {}
    for label in sorted(set(labels)):
        groups.setdefault(" ".join(label.split()).casefold(), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def note_on_alike(groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the note on groups of labels that are `alike`, if there are any."""
    told = listed(" and ".join(map(quoted, group)) for group in groups)
    return [f"case or blanks alone tell classes apart: {told}"] if groups else []


def are_texts(values: list[Any]) -> bool:
    """Tell whether all values are texts, 20 times as fast as by their types."""
    try:
        "".join(values)
    except TypeError:
        return False
    return True


def turns(value: Any, where: str) -> None:
    """A list of texts, or of objects with a text."""
    if not isinstance(value, list):
        refuse(where, "a list of turns", value)
    if are_texts(value):
        return
    for i, turn in enumerate(value):
        if type(turn) is not str:
            text(text_of_turn(turn), f"{where}[{i}]{'.text' if isinstance(turn, dict) else ''}")


def text_of_turn(turn: Any) -> Any:
    """Return the text of a turn that is one, or an object with one; what is neither, as it is."""
    if isinstance(turn, dict):
        return next((turn[key] for key in TURN_TEXTS if key in turn), None)
    return turn


def shown_text(value: Any) -> str:
    """Return a label, a text, or the turns of a history in one line; "" of none."""
    if isinstance(value, list):
        return BETWEEN_TURNS.join(as_text(text_of_turn(turn) or "") for turn in value)
    return as_text(value) if is_known(value) else ""


def without_text(turn: Mapping[str, Any], where: str) -> BadRecord:
    """Return what is raised of a turn without a text: what it may be called, and what is there."""
    *others, last = (f'"{key}"' for key in TURN_TEXTS)
    wanted = f"{', '.join(others)} or {last}"
    return BadRecord(f"{where}: no {wanted}; there are {listed(turn) or 'no fields'}")


def context(value: Any, where: str) -> None:
    """Turns, one at least, or a single text."""
    if not isinstance(value, str):
        turns(value, where)
        if not value:
            raise BadRecord(f"{where}: expected a list of turns, got an empty one")


def texts(value: Any, where: str) -> None:
    """A list of texts."""
    if not isinstance(value, list):
        refuse(where, "a list of strings", value)
    for i, part in enumerate(value):
        text(part, f"{where}[{i}]")


def name(value: Any, where: str) -> None:
    """What something is called by: a text or a number; a column may hold times, or bytes."""
    if type(value) not in (str, int, float, Carried):
        refuse(where, "a string", value)


def label(value: Any, where: str) -> None:
    """A class: a name, or true and false."""
    if not isinstance(value, bool):
        name(value, where)


def labels(value: Any, where: str) -> None:
    """A list of classes."""
    if not isinstance(value, list):
        refuse(where, "a list of labels", value)
    for i, part in enumerate(value):
        label(part, f"{where}[{i}]")


def names(value: Any, where: str) -> None:
    """A list of names, of which some may be unknown."""
    if not isinstance(value, list):
        refuse(where, "a list of names", value)
    if are_texts(value):
        return
    for i, part in enumerate(value):
        if not isinstance(part, str | None):
            refuse(f"{where}[{i}]", "a string", part)


def place(value: Any, where: str) -> None:
    """A place in a dialogue, from 0."""
    whole = type(value) is int or (type(value) is float and value.is_integer())
    if not whole or not 0 <= value < MOST_TURNS:
        what = "a whole number, 0 or more"
        if not isinstance(value, int | float) or isinstance(value, bool):
            refuse(where, what, value)
        raise BadRecord(f"{where}: expected {what}, got {value}")


def weight(value: Any, where: str) -> None:
    """How much a pair counts."""
    if not is_weight(value):
        what = f"a number from 0 to {HEAVIEST:g}"
        if type(value) not in (int, float):
            refuse(where, what, value)
        raise BadRecord(f"{where}: expected {what}, got {value:g}")


def is_weight(value: Any) -> bool:
    """Tell whether a value can be the weight of a pair, or is none at all."""
    return value is None or (type(value) in (int, float) and 0 <= value <= HEAVIEST)


def flag(value: Any, where: str) -> None:
    """Yes or no, as a boolean or a number."""
    if not is_flag(value):
        raise BadRecord(f"{where}: expected 0 or 1, got {json_kind(value)}")


def is_flag(value: Any) -> bool:
    """Tell whether a value says yes or no, or is none at all."""
    return value is None or (type(value) in (bool, int, float) and value in (0, 1))


def number(value: Any, where: str) -> None:
    """A finite number."""
    if type(value) not in (int, float):
        refuse(where, "a number", value)
    if not abs(value) < float("inf"):
        raise BadRecord(f"{where}: expected a number, got {value}")


PAIR: dict[str, Check] = {
    "context": context,
    "response": text,
    "follow": turns,
    "negatives": turns,
    "template": text,
    "speakers": names,
    "weight": weight,
    "similar": flag,
    "kind": name,
    "dialogue_id": name,
    "turn": place,
}
"""The fields of a pair that training reads."""


def check(record: Mapping[str, Any], fields: Mapping[str, Check]) -> None:
    """Check the fields of a record that are there.

    Raises:
        BadRecord: naming the first that is wrong, what was expected and what was found.
    """
    for field, value in record.items():
        if value is not None and field in fields:
            fields[field](value, field)

"""The tab-separated files of DialogueCSE, as published with its data sets ECD and JDDC."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dialtools.shown import quoted
from dialtools.streams.chunks import Chunk, Numbered, decode
from dialtools.streams.policy import Policy, Where
from dialtools.values import whole_number


def training(line: str) -> dict[str, Any]:
    """Return a pair with its negatives.

    The fields: turns before, turns after, roles, 1, candidates with the true one first, labels.

    Raises:
        ValueError: saying what is wrong with it.
    """
    names = "before, after, roles, 1, candidates, labels"
    before, after, roles, _, candidates, labels = _fields(line, 6, names)
    response, *negatives = candidates.split("|")
    if labels.split("|")[0] != "1" or not before:
        raise ValueError(
            "expected turns before the response, and the true response as first candidate"
        )
    context = before.split("|")
    record: dict[str, Any] = {
        "context": context,
        "response": response,
        "follow": [turn for turn in after.split("|") if turn],
        "negatives": negatives,
        "window": len(context),
    }
    # roles before - of the response - after; both "1|0|-1-|0" and "1|0-1-0" occur
    sides = roles.replace("|-", "-").replace("-|", "-").split("-")
    speakers = sides[0].split("|")
    if len(sides) == 3 and len(speakers) == len(context):
        record["speakers"] = [*speakers, sides[1]]
    return record


def select(line: str) -> dict[str, Any]:
    """Return a query, from id, text, topic, ids of positives, ids of negatives."""
    names = "id, text, topic, positives, negatives"
    name, text, label, positives, negatives = _fields(line, 5, names)
    return {
        "id": _whole(name),
        "query": text,
        **({"label": label} if label else {}),
        "positives": _ids(positives),
        "negatives": _ids(negatives),
    }


def sts(line: str) -> dict[str, Any]:
    """Return two texts and how alike they are, from score, text, text."""
    score, first, second = _fields(line, 3, "score, text, text")
    try:
        return {"text1": first, "text2": second, "score": float(score)}
    except ValueError:
        raise ValueError(f"score: expected a number, got {quoted(score)}") from None


def _line_records(
    chunk: Chunk, policy: Policy, reader: Callable[[str], dict[str, Any]]
) -> Numbered:
    """Yield the record of each line that is not blank."""
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first):
        where = Where(chunk.name, number)
        if line.strip() and (text := decode(line, where, policy, "\r")):
            try:
                yield number, reader(text)
            except ValueError as error:
                policy.reject(where, str(error), line)


training_records = partial(_line_records, reader=training)
select_records = partial(_line_records, reader=select)
sts_records = partial(_line_records, reader=sts)


def _fields(line: str, count: int, names: str) -> list[str]:
    fields = line.rstrip("\r\n").split("\t")
    if len(fields) != count:
        raise ValueError(f"expected {count} fields ({names}), found {len(fields)}")
    return fields


def _ids(listed: str) -> list[int]:
    return [_whole(name) for name in listed.split(",") if name]


def _whole(text: str) -> int:
    try:
        return whole_number(text)
    except ValueError:
        raise ValueError(f"expected an id, a whole number, got {quoted(text)}") from None

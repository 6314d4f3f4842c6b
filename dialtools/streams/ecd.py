"""The tab-separated files of DialogueCSE, as published with its data sets ECD and JDDC (METHODS 5.2, 5.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def training(line: str) -> dict[str, Any]:
    """Turns before | turns after | roles | 1 | candidates, the true one first | labels: a pair with its negatives.

    Raises:
        ValueError: saying what is wrong with it.
    """
    before, after, roles, _, candidates, labels = _fields(
        line, 6, "before, after, roles, 1, candidates, labels"
    )
    response, *negatives = candidates.split("|")
    if labels.split("|")[0] != "1" or not before:
        raise ValueError(
            "expected turns before the response, and the true response as first candidate"
        )
    context, follow = before.split("|"), [turn for turn in after.split("|") if turn]
    record: dict[str, Any] = {
        "context": context,
        "response": response,
        "follow": follow,
        "negatives": negatives,
        "window": len(context),
    }
    said = roles.replace("|-", "-").replace("-|", "-").split("-")  # "1|0|-1-|0" or "1|0-1-0"
    if len(said) == 3 and len(first := said[0].split("|")) == len(context):
        record["speakers"] = [*first, said[1]]
    return record


def select(line: str) -> dict[str, Any]:
    """Id, text, topic, ids of positives, ids of negatives."""
    name, text, label, positives, negatives = _fields(
        line, 5, "id, text, topic, positives, negatives"
    )
    row: dict[str, Any] = {"id": _whole(name), "query": text} | ({"label": label} if label else {})
    lists = {"positives": positives, "negatives": negatives}
    return row | {kind: [_whole(i) for i in ids.split(",") if i] for kind, ids in lists.items()}


def sts(line: str) -> dict[str, Any]:
    """Score, text, text."""
    score, first, second = _fields(line, 3, "score, text, text")
    try:
        return {"text1": first, "text2": second, "score": float(score)}
    except ValueError:
        raise ValueError(f"score: expected a number, got {score!r}") from None


LINES: dict[str, Callable[[str], dict[str, Any]]] = {
    "ecd": training,
    "ecd-select": select,
    "ecd-sts": sts,
}
"""Formats of which a record is a line."""


def _fields(line: str, count: int, names: str) -> list[str]:
    fields = line.rstrip("\r\n").split("\t")
    if len(fields) != count:
        raise ValueError(f"expected {count} fields ({names}), found {len(fields)}")
    return fields


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"expected an id, a whole number, got {text!r}") from None

#!/usr/bin/env python3
"""Count what of the evaluation stands in the training dialogues, letter by letter.

overlap.py TRAINING HELDOUT LABELLED, three files of JSON lines (.gz); a template is a text with
the names of its slots in place of their values.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator


def records(path: str) -> Iterator[dict]:
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


def template(turn: dict) -> str:
    text = turn["text"]
    for slot in reversed(turn.get("slots", [])):
        text = f"{text[: slot['start']]}{{{slot['label']}}}{text[slot['end'] :]}"
    return text


def values(turn: dict) -> Iterator[str]:
    return (turn["text"][slot["start"] : slot["end"]] for slot in turn.get("slots", []))


def tell(what: str, found: Iterable[str], known: set[str]) -> None:
    """Print how many distinct ones there are, and how many of these are known."""
    distinct = set(found)
    print(f"  {len(distinct & known):>5,} of {len(distinct):>6,} {what}")


def main() -> None:
    training, heldout, labelled = sys.argv[1:4]
    seen = [turn for talk in records(training) for turn in talk["turns"]]
    turns = [talk["turns"] for talk in records(heldout)]
    rows = list(records(labelled))
    every = [turn for talk in turns for turn in talk] + rows
    texts = {turn["text"] for turn in seen}
    print("\nof the evaluation, what stands in the training dialogues (distinct ones):")
    tell("labelled texts", (row["text"] for row in rows), texts)
    tell("responses", (turn["text"] for talk in turns for turn in talk[1:]), texts)
    tell("templates", map(template, every), set(map(template, seen)))
    tell(
        "values", (v for turn in every for v in values(turn)), {v for t in seen for v in values(t)}
    )


if __name__ == "__main__":
    main()

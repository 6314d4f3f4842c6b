"""SNIPS as Sonos published it: train_<Intent>_full.json and validate_<Intent>.json.

A file is {"<Intent>": [{"data": [part, ...]}]}. A part is {"text"} or {"text", "entity"}; the text
of an utterance is its parts joined. A few lines are not UTF-8.
https://github.com/sonos/nlu-benchmark (2017-06-custom-intent-engines), CC0. Published: 13,784
utterances for training, 700 for validation. The usual split (see `iob`) has the same 700 for
validation and takes its 700 of the test from the training files: never test on those what was
trained on these. Beside a full file the smaller one is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from dialtools.corpora.fields import json_kind
from dialtools.corpora.native.files import Files, split_of_name
from dialtools.corpora.native.raw import Raw, Unexpected, field, one_file, slot, utterance

TRAIN = re.compile(r"(.*train_[A-Za-z]+)\.json")


def raw(files: Files) -> Iterator[Raw]:
    """Yield the utterances of each intent.

    Raises:
        DataError: if a file is no object of lists.
    """
    names = files.needed("train_*_full.json", "train_*[A-Za-z].json", "validate_*.json")
    for name in names:
        part = TRAIN.fullmatch(name)
        if part and f"{part[1]}_full.json" in names:
            continue
        with one_file(files, name):
            content = files.json(name, encoding="latin-1")
            rows = ((intent, row) for intent, rows in _intents(content) for row in rows)
            for number, (intent, row) in enumerate(rows, 1):
                yield Raw(files.where(name, number), split_of_name(name), row, intent)


def _intents(content: Any) -> Iterable[tuple[str, list[Any]]]:
    if isinstance(content, dict) and all(isinstance(rows, list) for rows in content.values()):
        return content.items()
    raise Unexpected(f"expected an object of an intent's utterances, found {json_kind(content)}")


def record(raw: Raw) -> dict[str, Any]:
    """Return an utterance with its slots."""
    text, slots = "", []
    for part in field(raw.value, "data", list):
        piece, label = field(part, "text", str), field(part, "entity", str, default=None)
        if label is not None:
            slots.append(slot(len(text), len(text) + len(piece), label))
        text += piece
    return utterance(raw, text, raw.more, slots=slots)

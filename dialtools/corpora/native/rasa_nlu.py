"""Rasa's training examples: the intents under `nlu:`, with their examples line by line.

The label is the intent, entities are slots. Synonyms, lookup tables and regular expressions are no
utterances. rasa.com/docs/rasa/training-data-format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.fields import json_kind
from dialtools.corpora.native.files import Files, split_of_name
from dialtools.corpora.native.rasa_yaml import listed, needed_parts, unmarked
from dialtools.corpora.native.raw import Raw, Unexpected, field, one_file, utterance

KEY = "nlu"


def raw(files: Files) -> Iterator[Raw]:
    """Yield the examples of each intent, numbered from 1 in each file; `more` is the intent.

    Raises:
        DataError: if a file has another layout.
    """
    for name, content in needed_parts(files, KEY):
        with one_file(files, name):
            every = [each for item in listed(content[KEY], KEY) for each in _examples(item)]
            for number, (intent, text) in enumerate(every, 1):
                yield Raw(files.where(name, number), split_of_name(name), text, intent)


def _examples(item: Any) -> Iterator[tuple[str, str]]:
    """Yield intent and text of the examples of an item: lines of `- text`, or a list of them."""
    if not isinstance(item, dict):
        raise Unexpected(f"{KEY}: expected an object, found {json_kind(item)}")
    if "intent" not in item:
        return
    intent, examples = field(item, "intent", str), item.get("examples", "")
    for example in [examples] if isinstance(examples, str) else listed(examples, "examples"):
        text = example if isinstance(example, str) else field(example, "text", str)
        lines = (line.strip().removeprefix("- ").strip() for line in text.splitlines())
        yield from ((intent, line) for line in lines if line not in ("", "-"))


def record(raw: Raw) -> dict[str, Any]:
    """Return an utterance with its slots."""
    text, slots = unmarked(raw.value)
    return utterance(raw, text, raw.more, slots=slots)

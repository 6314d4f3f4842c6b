"""CLINC150: data_full.json, or its small, imbalanced and oos_plus cuts.

A file is {"train": [[text, intent], ...], "oos_train": ...}.
https://github.com/clinc/oos-eval, CC BY 3.0. Published: 15,000 / 3,000 / 4,500 utterances of 150
intents and 100 / 100 / 1,000 out of scope (labelled oos, a domain of its own); oos_plus has 250 for
training. Of a folder with several cuts the full one is read. The domain of an intent is that of
domains.json, if it lies beside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.fields import json_kind
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, utterance

CUTS = ("data_full.json", "data_oos_plus.json", "data_small.json", "data_imbalanced.json")
SPLITS = ("train", "val", "test")


def raw(files: Files) -> Iterator[Raw]:
    """Yield text and intent of each utterance, in the order of the file.

    `more` are the domains of the intents.

    Raises:
        DataError: if the file is no object of lists by split.
    """
    there = (name for cut in CUTS for name in files.names(cut))
    name = next(there, None) or files.needed(*CUTS)[0]
    beside = files.beside(name, "domains.json")
    domains = _domains(files, beside) if beside else {}
    content = files.json_object(name, of="splits")
    seen = 0
    for part, rows in content.items():
        split = part.removeprefix("oos_")
        if split not in SPLITS or not isinstance(rows, list):
            expected = "lists train, val, test, oos_train, oos_val, oos_test"
            files.fail(name, f"expected {expected}, found {part!r}, {json_kind(rows)}")
        for number, row in enumerate(rows, seen + 1):
            yield Raw(files.where(name, number), split, row, domains)
        seen += len(rows)


def record(raw: Raw) -> dict[str, Any]:
    """Return an utterance."""
    match raw.value:
        case [str(text), str(label)]:
            return utterance(raw, text, label, domain=raw.more.get(label))
    raise Unexpected(f"expected [text, intent], found {json_kind(raw.value)}")


def _domains(files: Files, name: str) -> dict[str, str]:
    content = files.json_object(name, of="lists of intents")
    for domain, intents in content.items():
        if not isinstance(intents, list):
            files.fail(name, f"{domain}: expected a list, found {json_kind(intents)}")
    return {
        intent: domain
        for domain, intents in content.items()
        for intent in intents
        if isinstance(intent, str)
    } | {"oos": "oos"}

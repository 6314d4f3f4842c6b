"""MASSIVE: <locale>.jsonl, with all splits in one file.

A line has utt, annot_utt with slots as `[date : today]`, intent and scenario.
https://github.com/alexa/massive, CC BY 4.0. Published: 11,514 / 2,033 / 2,974 utterances of 60
intents for each of 51 locales, which go along as `locale`: a folder is all of them, a file is one.
The text is that of annot_utt.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, field, known, lines, slot, utterance
from dialtools.corpora.utterances import bracketed

SPLITS = {"train": "train", "dev": "val", "test": "test"}

raw = lines("[a-z][a-z]-[A-Z][A-Z].jsonl")


def record(raw: Raw) -> dict[str, Any]:
    """Return an utterance with its slots.

    The unlabelled evaluation set has neither labels nor slots.
    """
    entry = raw.value
    text = field(entry, "utt", str)
    slots = None
    marked = field(entry, "annot_utt", str, default=None)
    if marked is not None:
        text, spans = bracketed(marked)
        slots = [slot(*span) for span in spans]
    fields = {name: field(entry, name, str, default=None) for name in ("id", "locale")}
    domain = field(entry, "scenario", str, default=None)
    part = field(entry, "partition", str, default=None)
    intent = field(entry, "intent", str, default=None)
    raw = raw._replace(split=part and known(SPLITS, part, "partition"))
    return utterance(raw, text, intent, domain=domain, **fields, slots=slots)

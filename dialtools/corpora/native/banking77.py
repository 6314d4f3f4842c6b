"""BANK77, and CLINC150, HWU64 in the same layout: text and category.

The files are train.csv, val.csv and test.csv, with categories.json beside.
https://github.com/PolyAI-LDN/task-specific-datasets (BANK77), github.com/alexa/dialoglue (all
three), CC BY 4.0. Published: BANK77 10,003 / 3,080 utterances of 77 intents. DialoGLUE's few-shot
cuts (train_10.csv) are read if named.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, columns, field, table, utterance

raw = table("train.csv", "val.csv", "valid.csv", "test.csv")


def record(raw: Raw) -> dict[str, Any]:
    """Return an utterance."""
    row = columns(raw)
    return utterance(raw, field(row, "text", str), field(row, "category", str))

"""Dialogue NLI: dialogue_nli_{train,dev,test}.jsonl, pairs of sentences with a label.

Each file is one list of {"sentence1", "sentence2", "label", ...}.
https://wellecks.com/dialogue_nli, CC BY 4.0. Published: 310,110 / 16,500 / 16,500 pairs, labelled
positive (entailment), neutral and negative. dialogue_nli_verified_test.jsonl, 12,376 of the test
pairs, is read if named.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, field, items, two_texts

raw = items(*(f"dialogue_nli_{part}.jsonl" for part in ("train", "dev", "test")), what="pairs")


def record(raw: Raw) -> dict[str, Any]:
    """Return two texts with their label."""
    return two_texts(raw, raw.value, label=field(raw.value, "label", str))

"""SNLI: snli_1.0_{train,dev,test}.jsonl, or .txt with tabs.

A table has a header, or else three columns: premise, hypothesis, and 0, 1 or 2.
https://nlp.stanford.edu/projects/snli, CC BY-SA 4.0. Published: 550,152 / 10,000 / 10,000 pairs, of
which 549,367 / 9,842 / 9,824 have a label that most annotators chose; the others are labelled `-`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Reader, columns, field, known, lines, table, two_texts

BARE = ("sentence1", "sentence2", "label")
DIGITS = {"0": "entailment", "1": "neutral", "2": "contradiction"}


def pairs(*stems: str) -> Reader:
    """Make a reader of pairs in JSON Lines files, or else in tables of the same names."""
    as_lines, as_table = ([f"{stem}.{suffix}" for stem in stems] for suffix in ("jsonl", "txt"))

    def raw(files: Files) -> Iterator[Raw]:
        if any(".json" in name for name in files.needed(*as_lines, *as_table)):
            return lines(*as_lines)(files)
        return table(*as_table, delimiter="\t", quoted=False, header=BARE)(files)

    return raw


raw = pairs("snli_1.0_*", "train", "dev", "test")


def record(raw: Raw) -> dict[str, Any]:
    """Return two texts with their label and, of MNLI, their genre."""
    entry = columns(raw) if raw.more else raw.value
    label = field(entry, "gold_label", str, default=None)
    if label is None:
        label = known(DIGITS, field(entry, "label", str), "label")
    fields = {
        name: field(entry, key, str, default=None)
        for name, key in {"id": "pairID", "genre": "genre"}.items()
    }
    return two_texts(raw, entry, label=label, **fields)

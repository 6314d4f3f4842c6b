"""SICK: pairs of sentences, how related they are, and whether one entails the other.

The file is SICK.txt, tabs and a header, its split in SemEval_set; or SemEval's
SICK_{train,trial,test_annotated}.txt. http://marcobaroni.org/composes/sick.html, CC BY-NC-SA 3.0.
Published: 4,439 / 495 / 4,906 pairs of SICK.txt, 4,500 / 500 / 4,927 of SemEval's files.
Relatedness is from 1 to 5; the trial set is what others call validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, columns, field, known, number, table, two_texts

WHOLE = ("SICK.txt",)
SEMEVAL = ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")
SPLITS = {"TRAIN": "train", "TRIAL": "val", "TEST": "test"}


def raw(files: Files) -> Iterator[Raw]:
    """Yield the rows of the one file, or of SemEval's."""
    whole = not files.single and files.names(*WHOLE)
    names = WHOLE if whole else SEMEVAL
    for row in table(*names, delimiter="\t", quoted=False)(files):
        of_trial = "trial" in row.where.name.rsplit("/", 1)[-1].lower()
        yield row._replace(split="val") if of_trial else row


def record(raw: Raw) -> dict[str, Any]:
    """Return two texts with their relatedness, and entailment, neutral or contradiction."""
    row = columns(raw)
    if "SemEval_set" in row:
        raw = raw._replace(split=known(SPLITS, row["SemEval_set"].upper(), "SemEval_set"))
    label = row.get("entailment_label") or field(row, "entailment_judgment", str)
    score = number(field(row, "relatedness_score", str), "relatedness_score")
    return two_texts(
        raw,
        row,
        "sentence_A",
        "sentence_B",
        score=score,
        label=label.lower(),
        id=row.get("pair_ID"),
    )

"""STS-B: sts-{train,dev,test}.csv, pairs of sentences with a score from 0 to 5.

Tabs, no quotes, no header: genre, file, year, id, score and two sentences.
https://ixa2.si.ehu.eus/stswiki (STS benchmark), licences of its sources. Published: 5,749 / 1,500 /
1,379 pairs. Some rows of training name their licence after the sentences.
"""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, columns, field, number, table, two_texts

COLUMNS = ("genre", "file", "year", "id", "score", "sentence1", "sentence2")

raw = table(
    "sts-train.csv", "sts-dev.csv", "sts-test.csv", delimiter="\t", quoted=False, header=COLUMNS
)


def record(raw: Raw) -> dict[str, Any]:
    """Return two texts with the score of their similarity."""
    row = columns(raw._replace(value=raw.value[: len(raw.more)]))
    score = number(field(row, "score", str), "score")
    return two_texts(raw, row, score=score, genre=row.get("genre"))

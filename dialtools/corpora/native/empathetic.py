"""EmpatheticDialogues: train.csv, valid.csv and test.csv, an utterance a row.

Who tells of something is the user, who listens the system. Fields have no quotes: where a text has
a comma there stands `_comma_`. https://arxiv.org/abs/1811.00207, CC BY-NC 4.0. Published: 24,850
conversations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, dialogue, stated, table, turn

COLUMNS = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance")
"""Those that are read; some rows have candidates behind them, which the header does not name."""
COMMA = "_comma_"


def raw(files: Files) -> Iterator[Raw]:
    """Yield the rows of each conversation."""
    rows = table("train.csv", "valid.csv", "test.csv", quoted=False)(files)
    for _, together in groupby(rows, key=lambda row: (row.where.name, row.value[0])):
        first, *rest = together
        yield first._replace(value=[first.value, *(row.value for row in rest)])


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue, and its `situation`; its domain is the emotion."""
    if short := next((row for row in raw.value if len(row) < len(COLUMNS)), None):
        names = ", ".join(COLUMNS)
        raise Unexpected(f"expected {len(COLUMNS)} fields ({names}), found {len(short)}")
    turns = []
    for row in raw.value:
        if not row[1].isdecimal():
            raise Unexpected(f"utterance_idx: expected a number, found {row[1]!r}")
        turns.append((int(row[1]), turn("user" if int(row[1]) % 2 else "system", _text(row[5]))))
    name, _, emotion, situation = raw.value[0][:4]
    told = dialogue(raw, [t for _, t in sorted(turns, key=lambda t: t[0])], id=name, domain=emotion)
    return told | stated(situation=_text(situation) or None)


def is_row(columns: Collection[str]) -> bool:
    """Tell whether a row is of a copy of this corpus in another format."""
    return all(column in columns for column in COLUMNS)


def _text(text: str) -> str:
    return with_commas(text).strip()


def with_commas(text: str) -> str:
    """Return a text with its commas."""
    return text.replace(COMMA, ",")

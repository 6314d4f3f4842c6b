"""Which the test items are, so that two scores are compared only if they are of the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from dialtools.corpora.fields import as_text, is_known

if TYPE_CHECKING:
    from dialtools.streams.vectors import Embeddings

TELLING = (
    "id",
    "dialogue_id",
    "turn",
    "text",
    "query",
    "utterance",
    "context",
    "history",
    "response",
    "text1",
    "text2",
    "sentence1",
    "sentence2",
    "premise",
    "hypothesis",
    "anchor",
    "entailment",
    "contradiction",
    "positive",
    "candidates",
)
"""Columns that say what an item is, whichever model embedded it; a file has some of them."""


def about(
    task: str,
    part: Embeddings,
    setting: str,
    options: Any,
    *,
    rows: np.ndarray | None = None,
    also: Sequence[str],
) -> dict[str, Any]:
    """Return what all scores of a task on some rows have in common: the fields of `Score`.

    Args:
        options: of the task; with a name, if the data set is not to be called by its file.
        rows, also: see `item_digests`.
    """
    return {
        "task": task,
        "dataset": options.name or part.name,
        "setting": setting,
        "seed": options.seed,
        "items": item_digests(part.columns, rows, also=also),
    }


def item_digests(
    columns: Mapping[str, Sequence[Any]],
    rows: np.ndarray | None = None,
    *,
    also: Sequence[str] = (),
) -> dict[str, str]:
    """Return {column: digest of its values in order} of the test items.

    A digest a column, not one in all: files that kept different columns still share some.

    Args:
        rows: the rows that are test items, if not all.
        also: further columns that tell, e.g. that of the labels.
    """
    digests = {}
    for name in dict.fromkeys((*TELLING, *also)):
        if name in columns:
            values = columns[name]
            digests[name] = _digest(values if rows is None else [values[row] for row in rows])
    return digests


def differing(first: Mapping[str, str], second: Mapping[str, str]) -> list[str] | None:
    """Return the columns in which two identities differ: none if the items are the same.

    None if they share no column, so that nothing is known.
    """
    shared = [name for name in first if name in second]
    return [name for name in shared if first[name] != second[name]] if shared else None


def _digest(values: Sequence[Any]) -> str:
    told = [_told(value) for value in values]
    return blake2b(orjson.dumps(told, default=str), digest_size=8).hexdigest()


def _told(value: Any) -> Any:
    """Return a value as every kind of file has it: 1 is 1.0 and "1", and empty is null."""
    if isinstance(value, bool | int | float | str):
        return as_text(value) if is_known(value) else None
    return value

"""Labelled embeddings: vectors and the class of each, as text or as integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialtools.corpora import fields, splits
from dialtools.errors import DataError
from dialtools.metrics.space import unit
from dialtools.streams.vectors import Embeddings


@dataclass
class Labelled:
    """Vectors (N, D), of unit length where not said otherwise, and their labels as text."""

    vectors: np.ndarray
    labels: list[str]

    def classes(self, names: list[str]) -> np.ndarray:
        """Return (N,) the index of each label in `names`, -1 for others."""
        index = {name: i for i, name in enumerate(names)}
        return np.fromiter(
            (index.get(label, -1) for label in self.labels), np.int64, len(self.labels)
        )


def numbers(labels: Sequence[Any]) -> np.ndarray:
    """Return (N,) an integer from 0 on for each label, -1 for one that is not known."""
    found = [label if fields.is_known(label) else None for label in labels]
    return np.where([label is None for label in found], -1, splits.numbered(found))


def labelled_rows(
    part: Embeddings, label: str, vectors: np.ndarray | None = None, *, scaled: bool = True
) -> Labelled:
    """Return rows with their labels.

    Args:
        label: the column of the labels.
        vectors: (N, D), to stand in for those of the file.
        scaled: to unit length, else as they are.

    Raises:
        DataError: if there is no row, or one has no label.
    """
    labels = labels_of(part, label)
    if not labels:
        raise DataError("holds no rows", where=part.name)
    matrix_ND = part.matrix if vectors is None else vectors
    return Labelled(unit(matrix_ND) if scaled else matrix_ND, labels)


def labels_of(part: Embeddings, column: str) -> list[str]:
    """Return the label of each row, as text.

    Raises:
        DataError: for a row that has none.
    """
    for row, value in enumerate(part.column(column, hint="--label names it")):
        if not fields.is_known(value):
            hint = "leave such rows out before they are embedded, or name them"
            raise DataError(f"row {part.place(row)} has no {column}", where=part.name, hint=hint)
    return [fields.as_text(value) for value in part.column(column, fields.label)]


def without_label(part: Embeddings, label: str, value: str | None) -> Embeddings:
    """Return the rows of other labels, or of none; all of them if no value is named."""
    if value is None:
        return part
    others = [label is None or fields.as_text(label) != value for label in part.column(label)]
    return part.select(np.flatnonzero(others))


def note_on_absent(flag: str, label: str | None, labels: Iterable[Any]) -> list[str]:
    """Return the note on a label that an option names and no row has, if it is so."""
    if label is None or label in map(fields.as_text, labels):
        return []
    return [f"{flag} {label}: no row has that label"]

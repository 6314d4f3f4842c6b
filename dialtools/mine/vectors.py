"""Unit vectors of distinct texts on disk, found by their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dialtools.corpora.fields import text_of_turn
from dialtools.metrics.unit_vectors import UnitVectors
from dialtools.streams.making import one_space
from dialtools.streams.vector_files import embedding_parts


class Vectors(UnitVectors):
    """V vectors of D dimensions; the first that a text is given stays."""

    def read(self, paths: Sequence[str]) -> None:
        """Add what embedding files hold: of `X_embedding` the text is in column X.

        Raises:
            DataError: if a file has no such column, or vectors differ in their length or model.
        """
        space: dict[str, Any] = {}
        for part in embedding_parts(paths):
            space = one_space(space, part.metadata, where=part.name)
            for name, matrix_ND in part.vectors.items():
                keys = hashes(turns_of(text) for text in part.texts(name))
                self.add(keys, matrix_ND, where=part.name)


def turns_of(value: Any) -> tuple[str, ...]:
    """Return a text, or a list of turns, as turns."""
    if isinstance(value, str):
        return (value,)
    turns = tuple(map(text_of_turn, value)) if isinstance(value, list) else ()
    return turns if all(isinstance(turn, str) for turn in turns) else ()


def hashes(turns: Any) -> np.ndarray:
    """Return a 64-bit integer for each tuple of texts: Python's own, as none outlives the run."""
    return np.fromiter(map(hash, turns), np.int64)

"""Unit vectors of distinct texts on disk, found by their text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dialtools.corpora.fields import text_of_turn
from dialtools.metrics.unit_vectors import UnitVectors
from dialtools.streams.making import one_space
from dialtools.streams.vector_files import embedding_parts

RESPONSE = "response"


class Vectors(UnitVectors):
    """V vectors of D dimensions; the first that a text is given stays.

    As a response it may have another than as a context: a transform moves contexts alone, and
    models tell speakers apart.
    """

    def read(self, paths: Sequence[str]) -> None:
        """Add what embedding files hold: of `X_embedding` the text is in column X.

        Raises:
            DataError: if a file has no such column, or vectors differ in their length or model.
        """
        space: dict[str, Any] = {}
        for part in embedding_parts(paths):
            space = one_space(space, part.metadata, where=part.name)
            for name, matrix_ND in part.vectors.items():
                answers = part.column_of(name) == RESPONSE
                keys = hashes((answers, turns_of(text)) for text in part.texts(name))
                self.add(keys, matrix_ND, where=part.name)

    def of(self, turns: Sequence[tuple[str, ...]], *, answers: bool) -> np.ndarray:
        """Return the number of each text's vector, -1 without one.

        Args:
            answers: they are responses; what has a vector only as a context has that, and vice
                versa.
        """
        own = self.find(hashes((answers, text) for text in turns))
        return np.where(own < 0, self.find(hashes((not answers, text) for text in turns)), own)


def turns_of(value: Any) -> tuple[str, ...]:
    """Return a text, or a list of turns, as turns."""
    if isinstance(value, str):
        return (value,)
    turns = tuple(map(text_of_turn, value)) if isinstance(value, list) else ()
    return turns if all(isinstance(turn, str) for turn in turns) else ()


def hashes(values: Iterable[Any]) -> np.ndarray:
    """Return a 64-bit integer for each value: Python's own, as none outlives the run."""
    return np.fromiter(map(hash, values), np.int64)

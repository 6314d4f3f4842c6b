"""Texts with the vectors that a teacher has for them, as pairs of each text with itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from dialtools.corpora.fields import BadRecord, text
from dialtools.errors import DataError
from dialtools.metrics.space import unit
from dialtools.streams.chunks import Chunk
from dialtools.streams.making import one_space
from dialtools.streams.policy import Policy, Where
from dialtools.streams.vector_files import embeddings_of
from dialtools.train.data.chunk_pairs import UNKNOWN_TURN, ChunkPairs, TurnLists


class Taught:
    """Reads chunks of embedding files, all of which are of one teacher."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {}
        self.dimension = 0

    def __call__(self, chunk: Chunk, policy: Policy) -> ChunkPairs:
        """Return the P texts of a chunk with their (P, D) vectors, scaled to length 1.

        Raises:
            DataError: for a record without text or vector, or one of another teacher than before.
        """
        held = embeddings_of(chunk)
        name, vectors_PD = held.chosen(None, "dial-embed --field NAME makes vectors of one field")
        texts = _texts(held.texts(name), chunk)
        self.space = one_space(self.space, held.metadata, where=chunk.name)
        self.dimension = self.dimension or vectors_PD.shape[1]
        if vectors_PD.shape[1] != self.dimension:
            message = (
                f"vectors of {vectors_PD.shape[1]:,} numbers, not {self.dimension:,} as before"
            )
            raise DataError(message, where=chunk.name)
        # of numbers up to 1 float16 keeps a thousandth at least
        return _with_themselves(texts, unit(vectors_PD).astype(np.float16))


def _texts(values: list[Any], chunk: Chunk) -> list[str]:
    for row, value in enumerate(values):
        try:
            text(value, "text")
        except BadRecord as error:
            raise DataError(str(error), where=Where(chunk.name, chunk.first + row)) from None
    return values


def _with_themselves(texts: list[str], vectors_PD: np.ndarray) -> ChunkPairs:
    n = len(texts)
    none = TurnLists(np.zeros(0, np.int64), np.zeros(n, np.int64))
    return ChunkPairs(
        texts=texts,
        context=TurnLists(np.arange(n), np.ones(n, np.int64)),
        follow=none,
        negatives=none,
        context_roles=np.zeros(n, np.uint8),
        response=np.arange(n),
        response_role=np.zeros(n, np.uint8),
        weight=np.full(n, np.nan, np.float32),
        similar=np.ones(n, np.uint8),
        kind=[None] * n,
        domain=[None] * n,
        dialogue=[None] * n,
        turn=np.full(n, UNKNOWN_TURN, np.int32),
        template=np.full(n, -1),
        vectors=vectors_PD,
    )

"""Texts with the vectors that a teacher has for them, as pairs of each text with itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dialtools.corpora.fields import BadRecord, text
from dialtools.errors import DataError
from dialtools.metrics.space import unit
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.making import one_space
from dialtools.streams.policy import Policy, Where
from dialtools.streams.vector_files import embeddings_of, single_rows
from dialtools.streams.vectors import Embeddings, check_dimensions
from dialtools.train.data.pairs_of_batch import ChunkPairs, pairs_of_batch


class Taught:
    """Reads chunks of embedding files, all of which are of one teacher."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {}
        self.dimension = 0

    def __call__(self, chunk: Chunk, policy: Policy) -> ChunkPairs:
        """Return the P texts of a chunk with their (P, D) vectors, scaled to length 1.

        A record without text or vector goes to the policy.

        Raises:
            DataError: for one of another teacher than before.
        """
        try:
            held, texts, vectors_PD = self._read(chunk)
        except DataError:
            if policy.fails:
                raise
            held, texts, vectors_PD = self._read_sound(chunk, policy)
        self.space = one_space(self.space, held.metadata, where=chunk.name)
        # of numbers up to 1 float16 keeps a thousandth at least
        return _with_themselves(texts, unit(vectors_PD).astype(np.float16))

    def _read(self, chunk: Chunk) -> tuple[Embeddings, list[str], np.ndarray]:
        """Return what a chunk holds, its texts, and their vectors.

        Raises:
            DataError: if one is none.
        """
        held = embeddings_of(chunk)
        name, vectors_PD = held.chosen(None, "dial-embed --field NAME makes vectors of one field")
        texts = _texts(held.texts(name), chunk)
        self.dimension = self.dimension or vectors_PD.shape[1]
        check_dimensions(vectors_PD, self.dimension, where=chunk.name)
        return held, texts, vectors_PD

    def _read_sound(self, chunk: Chunk, policy: Policy) -> tuple[Embeddings, list[str], np.ndarray]:
        """Return what the sound records of a chunk hold; others go to the policy, one by one."""
        held, texts, vectors = Embeddings({}, name=chunk.name), list[str](), list[np.ndarray]()
        for row in single_rows(chunk, policy):
            try:
                held, own, vectors_1D = self._read(row)
            except DataError as error:
                (_, record), *_ = records(row, policy)
                policy.reject(Where(row.name, row.first), error.message, record, error.hint)
                continue
            texts += own
            vectors.append(vectors_1D)
        empty = np.zeros((0, self.dimension), np.float32)
        return held, texts, np.concatenate([empty, *vectors])


def _texts(values: list[Any], chunk: Chunk) -> list[str]:
    numbers = chunk.lines or range(chunk.first, chunk.first + len(values))
    for number, value in zip(numbers, values, strict=True):
        try:
            text(value, "text")
        except BadRecord as error:
            raise DataError(str(error), where=Where(chunk.name, number)) from None
    return values


def _with_themselves(texts: list[str], vectors_PD: np.ndarray) -> ChunkPairs:
    contexts = pa.array([[text] for text in texts], pa.list_(pa.string()))
    pairs = {"context": contexts, "response": pa.array(texts, pa.string())}
    return replace(pairs_of_batch(pa.RecordBatch.from_pydict(pairs)), vectors=vectors_PD)

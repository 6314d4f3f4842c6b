"""The nearest vectors by a graph (HNSW, usearch): most of them, in a small part of the time."""

from __future__ import annotations

import numpy as np

from dialtools.advance import Advance, silent
from dialtools.errors import ConfigError
from dialtools.metrics.unit_vectors import UnitVectors
from dialtools.near.find import DIGITS, HALF_DIGIT, Table, nearest_vectors

SAMPLE = 1000
"""Vectors that are searched exactly, too."""
WIDER = 4
"""Times K: candidates that a search of the graph holds, 64 at least."""


class Graph:
    """A graph of V vectors, made by one thread: the same each time.

    Attributes:
        found, there: of the nearest that an exact search of a sample finds, how many it found.
    """

    def __init__(self, among: UnitVectors, *, count: int, floor: float, seed: int) -> None:
        try:
            from usearch.index import Index  # pyright: ignore[reportMissingImports]
        except ImportError:
            hint = "pip install 'dialtools[ann]'"
            raise ConfigError("--approximate needs usearch", hint=hint) from None
        self.among, self.floor = among, floor
        self.count = min(count, len(among))
        self.draw = np.random.default_rng(seed)
        self.found = self.there = 0
        self.index = Index(
            ndim=among.dimension,
            metric="ip",
            dtype="f32",
            expansion_search=max(64, WIDER * self.count),
        )
        for first, block_CD in among.blocks():
            self.index.add(np.arange(first, first + len(block_CD)), block_CD, threads=1)

    def __call__(self, query_UD: np.ndarray, advance: Advance) -> Table:
        """Return the nearest vectors of some, and note how many a sample of them misses."""
        number_UK = np.full((len(query_UD), self.count), -1, np.int64)
        cosine_UK = np.full((len(query_UD), self.count), -np.inf, np.float32)
        matches = self.index.search(query_UD, self.count)
        many = matches.keys.shape[-1]
        number_UK[:, :many] = matches.keys.reshape(len(query_UD), many)
        with np.errstate(invalid="ignore"):  # NaN: no path of the graph leads to so many
            cosine_UK[:, :many] = 1 - matches.distances.reshape(len(query_UD), many)
        far = ~(cosine_UK >= self.floor - HALF_DIGIT)
        number_UK[far] = -1
        self._compare(query_UD, np.where(far, -np.inf, cosine_UK))
        advance(len(query_UD))
        return number_UK, cosine_UK

    def _compare(self, query_UD: np.ndarray, cosine_UK: np.ndarray) -> None:
        """Search a sample exactly: what is as near as its last counts as found."""
        size = min(SAMPLE, len(query_UD))
        sample = np.sort(self.draw.choice(len(query_UD), size, replace=False))
        _, exact_SK = nearest_vectors(
            query_UD[sample], self.among, count=self.count, floor=self.floor, advance=silent
        )
        there_S = np.isfinite(exact_SK).sum(1)
        last_S = np.where(np.isfinite(exact_SK), exact_SK, np.inf).min(1)
        near_SK = cosine_UK[sample] >= last_S[:, None] - 10**-DIGITS
        self.found += int(np.minimum(near_SK.sum(1), there_S).sum())
        self.there += int(there_S.sum())

    def closing_note(self) -> str:
        """Return the share of the nearest that it finds."""
        if not self.there:
            return "nothing near in the sample that was searched exactly"
        recall = self.found / self.there
        return f"approximate: {recall:.4f} of the nearest found, measured on a sample"

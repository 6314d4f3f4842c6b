"""What `dialtools mine` does: read vectors and pairs, search, write the pairs with negatives.

The search is exact, by products of blocks of matrices. B pairs of a block, C candidates of a block,
R in all, D dimensions, K nearest.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from dialtools.advance import Advance
from dialtools.metrics.nearest import Nearest
from dialtools.mine.options import RANDOM, MineOptions
from dialtools.mine.pairs import Pairs, Vectors, known_positives
from dialtools.streams.chunks import read_chunks
from dialtools.streams.payloads import Payload, batch_with, lines_with, records_of
from dialtools.streams.policy import Policy
from dialtools.streams.record_tables import record_batches
from dialtools.streams.sinks import is_stream
from dialtools.streams.tally import counted

NEGATIVES = "negatives"
PAIRS_AT_ONCE = 1024
CANDIDATES_AT_ONCE = 8192
"""Scores of 32 MiB."""


class Mining:
    """One run over the pairs.

    Attributes:
        found: (P, N) the negatives of each pair, as numbers of candidates, -1 for none.
    """

    def __init__(self, options: MineOptions, policy: Policy) -> None:
        self.options = options
        self.vectors = Vectors()
        self.pairs = Pairs(self.vectors, policy)
        self.found = np.zeros((0, options.num_negatives), np.int32)

    def read(self) -> None:
        """Read the embeddings, then the pairs."""
        options = self.options
        self.vectors.read(options.embeddings)
        chunks = read_chunks(options.inputs, format=options.from_, policy=self.pairs.policy)
        self.pairs.read(chunks, limit=options.limit)

    def search(self, advance: Advance) -> None:
        """Find the negatives of all pairs."""
        options, pairs = self.options, self.pairs
        starts, answers = known_positives(pairs.anchor, pairs.answer)
        draw = np.random.default_rng(options.seed)
        self.found = np.full((len(pairs), options.num_negatives), -1, np.int32)
        for first in range(0, len(pairs), PAIRS_AT_ONCE):
            block = slice(first, first + PAIRS_AT_ONCE)
            anchor = pairs.anchor[block]
            query_BD = self.vectors.rows[pairs.context_row[block]]
            answer_BD = self.vectors.rows[pairs.response_row[block]]
            table_BK = nearest(
                query_BD,
                self._candidates(),
                count=min(options.ranks, len(pairs.candidate_row)),
                ceiling_B=ceilings(np.einsum("nd,nd->n", query_BD, answer_BD), options),
                floor=-inf if options.min_score is None else options.min_score,
                known=_known(starts, answers, anchor),
            )
            taken = table_BK[:, options.range_min :]
            if options.sampling_strategy == RANDOM:
                taken = drawn(taken, options.num_negatives, draw)
            taken = taken[:, : options.num_negatives]
            self.found[block, : taken.shape[1]] = taken
            advance(len(anchor))

    def _candidates(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the vectors of the candidates by blocks."""
        rows = self.pairs.candidate_row
        for first in range(0, len(rows), CANDIDATES_AT_ONCE):
            yield first, self.vectors.rows[rows[first : first + CANDIDATES_AT_ONCE]]

    def payloads(self, *, lines: bool) -> Iterator[Any]:
        """Yield the pairs with their negatives: JSON lines, or Arrow batches."""
        if lines:
            return (self._as_lines(*part) for part in self._parts())
        if self.pairs.spool.columnar:
            return (self._as_batch(*part) for part in self._parts())
        records = (
            record | {NEGATIVES: named}
            for payload, found in self._parts()
            for record, named in zip(records_of(payload), self._texts(found), strict=True)
        )
        return record_batches(records, at_once=is_stream(self.options.output))

    def _parts(self) -> Iterator[tuple[Payload, np.ndarray]]:
        ends = np.cumsum(self.pairs.sizes)
        for payload, end, size in zip(self.pairs.spool, ends, self.pairs.sizes, strict=True):
            yield payload, self.found[end - size : end]

    def _as_lines(self, payload: Payload, found: np.ndarray) -> bytes:
        values = list(map(orjson.dumps, self._texts(found)))
        return lines_with(payload, NEGATIVES, values, range(len(values)))

    def _as_batch(self, payload: Payload, found: np.ndarray) -> pa.RecordBatch:
        assert not isinstance(payload, bytes)
        offsets = np.concatenate([[0], np.cumsum((found >= 0).sum(1))]).astype(np.int32)
        texts = self.pairs.texts.take(pa.array(found[found >= 0])).cast(pa.string())
        column = pa.ListArray.from_arrays(pa.array(offsets), texts)
        return batch_with(payload, NEGATIVES, column)

    def _texts(self, found: np.ndarray) -> list[list[str]]:
        """Return the texts of each row's negatives."""
        texts = iter(self.pairs.texts.take(pa.array(found[found >= 0])).to_pylist())
        return [[next(texts) for _ in range(size)] for size in (found >= 0).sum(1).tolist()]

    def counts(self) -> dict[str, int]:
        """Return how many pairs and negatives there are, and pairs without one."""
        named = self.found >= 0
        return {
            "pairs": len(named),
            "candidates": len(self.pairs.candidate_row),
            NEGATIVES: int(named.sum()),
            "without": int((~named.any(1)).sum()),
        }

    def closing_line(self) -> str:
        """Return what was found."""
        counts = self.counts()
        pairs, named = counts["pairs"], counts[NEGATIVES]
        mean = f", {named / pairs:.2f} a pair" if pairs else ""
        without = f"; {counted(counts['without'], 'pair')} without" if counts["without"] else ""
        return f"{counted(pairs, 'pair')}, {counted(named, 'negative')}{mean}{without}"


def ceilings(positive_B: np.ndarray, options: MineOptions) -> np.ndarray:
    """Return (B,) the highest score of a negative, by the score of each pair's own response.

    The margin is taken from what it is of a score's size, so that it lowers scores below 0, too
    (NV-Retriever, TopK-PercPos: p · (1 - margin), for scores above 0).
    """
    bounds = [np.full(len(positive_B), inf)]
    if options.relative_margin > -inf:
        bounds.append(positive_B - options.relative_margin * np.abs(positive_B))
    if options.absolute_margin is not None:
        bounds.append(positive_B - options.absolute_margin)
    if options.max_score is not None:
        bounds.append(np.full(len(positive_B), options.max_score))
    return np.min(bounds, axis=0)


def _known(
    starts: np.ndarray, answers: np.ndarray, anchor_B: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a block and candidates that answer their context somewhere, by candidate."""
    parts = [answers[starts[anchor] : starts[anchor + 1]] for anchor in anchor_B]
    row = np.repeat(np.arange(len(parts)), list(map(len, parts)))
    candidate = np.concatenate(parts)
    order = np.argsort(candidate, kind="stable")
    return row[order], candidate[order]


def nearest(
    query_BD: np.ndarray,
    blocks: Iterator[tuple[int, np.ndarray]],
    *,
    count: int,
    ceiling_B: np.ndarray,
    floor: float,
    known: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Return (B, K) the nearest candidates within bounds, -1 where there are fewer.

    Args:
        blocks: the first number and the (C, D) unit vectors of some candidates after others.
        ceiling_B: the highest score of a negative of each pair.
        floor: the lowest.
        known: rows and candidates that are no negatives, by candidate.
    """
    best = Nearest(len(query_BD), count, floor)
    row, candidate = known
    for first, block_CD in blocks:
        scores_BC = query_BD @ block_CD.T
        allowed_BC = scores_BC <= ceiling_B[:, None]
        inside = slice(*np.searchsorted(candidate, [first, first + len(block_CD)]))
        allowed_BC[row[inside], candidate[inside] - first] = False
        best.offer(scores_BC, first, allowed_BC)
    return best.table()


def drawn(table_BK: np.ndarray, count: int, draw: np.random.Generator) -> np.ndarray:
    """Return (B, N) of each row's candidates, drawn without order of rank, nearest first."""
    keys = draw.random(table_BK.shape)
    keys[table_BK < 0] = np.inf  # those that are not there come last
    chosen = np.sort(np.argsort(keys, axis=1)[:, :count], axis=1)
    return np.take_along_axis(table_BK, chosen, axis=1)

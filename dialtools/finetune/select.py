"""Response selection by fine-tuning: no head, dot products as they are, no temperature (METHODS 3.8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from dialtools.corpora.turns import column_of_turns
from dialtools.encoder.encoder import Encoder
from dialtools.errors import DataError
from dialtools.finetune.options import SelectProtocol
from dialtools.finetune.task import Figures, Items, Task, read
from dialtools.metrics.ranking import block_ranks, reciprocal_rank, top_k

TOP = (1, 3, 5, 10)
QUERY = ("context", "history", "query", "question")


class Select(Task[SelectProtocol]):
    """A query and its response a row; the truth is an integer for each distinct text of a response.

    Examples are drawn from all training rows alike, as if of one class.
    """

    def __init__(self, options: SelectProtocol) -> None:
        super().__init__(options)
        train, test = read(options)
        self.asked = test
        where, first = train[0]
        query = options.query or next((name for name in QUERY if first.get(name) is not None), None)
        if query is None:
            raise DataError(
                f"no field {', '.join(QUERY[:-1])} or {QUERY[-1]}; there are {', '.join(first)}",
                where=where,
                hint="name one with --query",
            )
        self.labels = [("",)] * len(train)
        self.train, self.test = (self._items(part, query) for part in (train, test))
        if len(test) < options.candidates:
            raise DataError(
                f"{len(test)} test rows, fewer than the {options.candidates} candidates of a query",
                hint="--candidates N",
            )

    def _items(self, records: list, query: str) -> Items:
        sides = [column_of_turns(records, name) for name in (query, self.options.response)]
        place: dict[tuple[str, ...], int] = {}
        same = [place.setdefault(texts, len(place)) for texts, _ in sides[1]]
        return Items(sides, np.asarray(same, np.int64))

    @property
    def tested(self) -> int:
        """How many test rows are scored: with --rest drop, those of whole blocks."""
        n, size = len(self.test.truth), self.options.candidates
        return n // size * size if self.options.rest == "drop" else n

    @property
    def together(self) -> list[int]:
        """Its block for each query: those of a block share their candidates."""
        return [row // self.options.candidates for row in range(self.tested)]

    def sequences(self, encoder: Encoder, items: Items) -> list[list[np.ndarray]]:
        """Return the token sequences of queries and responses; each side has its own length."""
        lengths = (self.options.max_length, self.options.response_max_length)
        return [
            self.tokens(encoder, side, min(length, encoder.max_length))
            for side, length in zip(items.sides, lengths, strict=True)
        ]

    def loss(self, outputs: Sequence[Tensor], truth: Tensor) -> Tensor:
        """Return the cross entropy of each query's own response among those of the batch."""
        query_ND, response_ND = outputs
        return functional.cross_entropy(
            query_ND @ response_ND.T, torch.arange(len(query_ND), device=query_ND.device)
        )

    def each(self, outputs: Sequence[np.ndarray], truth: np.ndarray) -> dict[str, np.ndarray]:
        """Return top-1/3/5/10 and the reciprocal rank of each query, among blocks of consecutive rows."""
        same = truth if self.options.duplicates == "drop" else None
        found = block_ranks(
            outputs[0][: len(truth)], outputs[1][: len(truth)], self.options.candidates, same_N=same
        )
        return {f"top-{k}": top_k(found, k) for k in TOP} | {"mrr": reciprocal_rank(found)}

    def figures(self, outputs: Sequence[np.ndarray], truth: np.ndarray, *, final: bool) -> Figures:
        """Return their means in percent."""
        part = truth[: self.tested] if final else truth
        return {
            name: 100 * float(shares.mean()) for name, shares in self.each(outputs, part).items()
        }

    def quality(self, figures: Figures) -> float:
        """Return the sum of top-1/3/5/10."""
        return sum(figures[f"top-{k}"] for k in TOP)

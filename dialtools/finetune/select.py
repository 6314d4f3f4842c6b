"""dial-eval finetune select - responses, learnt from a few pairs

  dial-eval finetune select --model model/ \\
    --train pairs.jsonl --test heldout.jsonl
  dial-eval finetune select --model model/ --shots 100 --candidates 20 \\
    dstc2_acts.jsonl

Reads records of a query (`context`, `history`, `query` or `question`: a text,
or a list of turns), its `response`, which is to be found among candidates,
and `split`; or --train FILE and --test FILE. Tests the state with the largest
sum of top-1, 3, 5 and 10 on validation pairs.

There is no head. The other responses of a batch are the negatives. Scores are
dot products of the means of token vectors, not scaled. As in DSE's code, the
loss looks only from query to response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dialtools.corpora.turns import Record, column_of_turns, query_field
from dialtools.errors import DataError
from dialtools.finetune.options import FinetuneOptions, other_default, training
from dialtools.finetune.task import Figures, Items, Task
from dialtools.options import option
from dialtools.streams.options import column
from dialtools.streams.policy import Policy
from dialtools.streams.tally import counted
from dialtools.values import at_least

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from dialtools.encoder.encoder import Encoder


@dataclass
class SelectProtocol(FinetuneOptions):
    """No head: dot products of the means of the token vectors (DSE table 9)."""

    query: str | None = column(
        None,
        help="field of the queries: texts, or lists of turns",
        shown="context, history, query or question",
    )
    response: str = column("response", help="field of the responses")
    shots: tuple[int, ...] = other_default(
        "shots", (500, 1000), help="pairs to train on, and as many to validate on"
    )
    runs: int = other_default(
        "runs", 5, help="number of runs; each draws new pairs (seeds seed, seed+1, ...)"
    )
    candidates: int = option(
        100,
        parse=at_least(2),
        help="candidates per query: the responses of N consecutive rows",
    )
    duplicates: str = option(
        "drop",
        choices=("drop", "count"),
        help=(
            "candidates with the text of the true response: leave them out, or count them "
            "against it, as DSE's code does"
        ),
    )
    rest: str = option(
        "drop",
        choices=("drop", "keep"),
        help=(
            "the last test rows, fewer than --candidates: leave them out, as dial-eval select "
            "does, or make a smaller block, as DSE's fine-tuning does"
        ),
    )
    batch_size: int = training(
        100, parse=at_least(2), help="pairs per step, which are each other's negatives"
    )
    validate_every: int = other_default("validate_every", 50)
    patience: int = other_default("patience", 3)
    max_length: int = other_default(
        "max_length", 128, help="maximum tokens per query; a list of turns keeps its newest"
    )
    response_max_length: int = training(128, parse=at_least(4), help="maximum tokens per response")


class Select(Task[SelectProtocol]):
    """A query and its response a row; the truth is a number for each distinct text of a response.

    Examples are drawn from all training rows alike, as if of one class.
    """

    name = "select"
    options_class = SelectProtocol

    def __init__(self, options: SelectProtocol, policy: Policy | None = None) -> None:
        """Read the rows.

        Raises:
            DataError: if there is no query, or there are fewer test rows than candidates.
        """
        from dialtools.finetune.rows import read_rows

        super().__init__(options, policy)
        self.query = options.query
        train, test = read_rows(options, self.examples, self.policy)
        self.labels = [("",)] * len(train)
        self.train = self._items(train)
        if len(test) < options.candidates:
            raise DataError(
                f"{counted(len(test), 'test row')}, fewer than the {options.candidates} candidates",
                hint="--candidates N",
            )
        self.test_records = self._asked(test)
        self.test = self._items(self.test_records)

    def examples(self, record: Record) -> list[Record]:
        """Return the record, if it has a query and a response; the first tells what is a query."""
        query = self.query or query_field(record, hint="name one with --query")
        for name in (query, self.options.response):
            column_of_turns([record], name)
        self.query = query
        return [record]

    def _asked(self, test: Sequence[Record]) -> Sequence[Record]:
        """Return the test rows that are scored: with --rest drop, those of whole blocks.

        Not those of a block of one response, in which there is none to pick.

        Raises:
            DataError: if no row is left.
        """
        import numpy as np

        from dialtools.metrics.ranking import without_rivals

        size = self.options.candidates
        if self.options.rest == "drop":
            test = test[: len(test) // size * size]
        drops = self.options.duplicates == "drop"
        texts_N = self._items(test).truth if drops else np.arange(len(test))
        alone_N = without_rivals(texts_N, size)
        if alone_N.all():
            raise DataError("no query has a candidate but its response")
        self.alone = int(alone_N.sum())
        return [row for row, alone in zip(test, alone_N, strict=True) if not alone]

    def _items(self, records: Sequence[Record]) -> Items:
        import numpy as np

        names = (str(self.query), self.options.response)
        sides = [column_of_turns(records, name) for name in names]
        place: dict[tuple[str, ...], int] = {}
        same = [place.setdefault(texts, len(place)) for texts, _ in sides[1]]
        return Items(sides, np.asarray(same, np.int64))

    @property
    def longest(self) -> int:
        return max(self.options.max_length, self.options.response_max_length)

    @property
    def groups(self) -> list[int]:
        """Its block for each query: those of a block share their candidates."""
        return [row // self.options.candidates for row in range(self.tested)]

    def setting(self, shots: int) -> str:
        return f"1-of-{self.options.candidates} {super().setting(shots)}"

    def sequences(self, encoder: Encoder, items: Items) -> list[list[np.ndarray]]:
        """Return the token sequences of queries and responses; each side has its own length."""
        lengths = (self.options.max_length, self.options.response_max_length)
        return [
            self.tokens(encoder, side, min(length, encoder.max_length))
            for side, length in zip(items.sides, lengths, strict=True)
        ]

    def loss(self, outputs: Sequence[Tensor], truth: Tensor) -> Tensor:
        """Return the cross entropy of each query's own response among those of the batch."""
        import torch
        from torch.nn.functional import cross_entropy

        query_nD, response_nD = outputs
        diagonal_n = torch.arange(len(query_nD), device=query_nD.device)
        return cross_entropy(query_nD @ response_nD.T, diagonal_n)

    def each(self, outputs: Sequence[np.ndarray], truth: np.ndarray) -> dict[str, np.ndarray]:
        """Return top-1/3/5/10 and the reciprocal rank of each query, among blocks of rows."""
        from dialtools.metrics.ranking import block_ranks, selection

        query_ND, response_ND = outputs
        same_N = truth if self.options.duplicates == "drop" else None
        ranks = block_ranks(query_ND, response_ND, self.options.candidates, same_N=same_N)
        return selection(ranks)

    def quality(self, figures: Figures) -> float:
        """Return the sum of top-1/3/5/10."""
        return sum(value for name, value in figures.items() if name.startswith("top-"))

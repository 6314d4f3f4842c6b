"""What a fine-tuning task is: rows to learn from and to be tested on, a head, a loss, and what counts as good.

N rows, D dimensions, S sides of a row that are encoded apart (1, or query and response), C outputs
of the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from torch import Tensor

from dialtools.corpora.read import read_records
from dialtools.corpora.turns import Record, Turns, field_of
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.sequences import sequences_of
from dialtools.errors import DataError, nearest
from dialtools.finetune.options import FinetuneOptions
from dialtools.streams.policy import Policy

Options = TypeVar("Options", bound=FinetuneOptions)
Figures = dict[str, float]


@dataclass
class Items:
    """N rows: the turns of each side, and the truth, whose kind is the task's."""

    sides: list[list[Turns]]
    truth: np.ndarray


class Task(Generic[Options]):
    """A task with its rows read.

    Attributes:
        labels: of each training row, of which the sampler draws.
        outputs: C; without any there is no head.
        dropout: before the head.
        cut: texts that were longer than the longest sequence.
        asked: the test records.
    """

    train: Items
    test: Items
    labels: Sequence[tuple[str, ...]]
    outputs = 0
    dropout = 0.0
    cut = 0
    asked: Sequence[Record] = ()

    def __init__(self, options: Options) -> None:
        self.options = options

    @property
    def tested(self) -> int:
        """How many test rows are scored."""
        return len(self.test.truth)

    @property
    def together(self) -> list[int]:
        """The number of its group for each tested row, where rows belong together; else nothing."""
        return []

    def sequences(self, encoder: Encoder, items: Items) -> list[list[np.ndarray]]:
        """Return the token sequences of each side."""
        return [self.tokens(encoder, side, encoder.max_length) for side in items.sides]

    def tokens(self, encoder: Encoder, side: Sequence[Turns], max_length: int) -> list[np.ndarray]:
        """Return the token sequences of one side, and count those that were cut."""
        sequences, _, cut = sequences_of(encoder, side, max_length)
        self.cut += int(cut.sum())
        return sequences

    def loss(self, outputs: Sequence[Tensor], truth: Tensor) -> Tensor:
        """Return the loss of a batch in nats, from the outputs (n, C) or (n, D) of each side."""
        raise NotImplementedError

    def figures(self, outputs: Sequence[np.ndarray], truth: np.ndarray, *, final: bool) -> Figures:
        """Return the scores in percent, of validation rows or, finally, of test rows."""
        raise NotImplementedError

    def each(self, outputs: Sequence[np.ndarray], truth: np.ndarray) -> dict[str, np.ndarray]:
        """Return what each tested row adds to figures that are means over them: (tested,) shares by their names."""
        return {}

    def quality(self, figures: Figures) -> float:
        """Return what validation maximises."""
        raise NotImplementedError


def read(options: FinetuneOptions) -> tuple[list[Record], list[Record]]:
    """Return the training and the test records.

    Raises:
        DataError: if a file cannot be read, a part is empty, or no record is in it.
    """
    if options.train and options.test:
        parts = tuple(
            list(read_records([path], format=options.from_, policy=Policy()))
            for path in (options.train, options.test)
        )
        for path, part in zip((options.train, options.test), parts, strict=True):
            if not part:
                raise DataError("holds no records", where=path)
        return parts[0], parts[1]
    by_split: dict[str, list[Record]] = {}
    for where, record in read_records(options.inputs, format=options.from_, policy=Policy()):
        by_split.setdefault(str(field_of(where, record, options.split)), []).append((where, record))
    for name in (options.train_split, options.test_split):
        if name not in by_split:
            raise DataError(
                f"no record has {options.split} = {name!r}; there are {', '.join(by_split) or 'none'}",
                where=", ".join(options.inputs),
                hint=nearest(name, list(by_split)),
            )
    return by_split[options.train_split], by_split[options.test_split]

"""What a fine-tuning task is: rows to learn from and to be tested on, a head, a loss, a score.

Help loads this file and those of the tasks, for their options and pages: numpy, torch and the
encoder are imported in the functions that need them.

N rows, n rows of a batch, D dimensions, C outputs of the head, S sides of a row that are encoded
apart (1, or query and response).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from dialtools.corpora.splits import group_numbers
from dialtools.corpora.turns import Record, Turns, shared_fields
from dialtools.finetune.options import FinetuneOptions
from dialtools.streams.policy import Policy

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from dialtools.encoder.encoder import Encoder

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
        name: in commands and score records.
        options_class: its options; the docstring of their module is the help page.
        labels: of each training row, of which the sampler draws.
        outputs: C; without any there is no head.
        dropout: before the head.
        cut: texts that were longer than the longest sequence.
        test_records: the test rows as they were read, where they tell which items were scored.
        unlearnt: how many test rows each class has that no training row has.
        alone: how many test rows are left out, for they have no candidate but their response.
    """

    name: ClassVar[str]
    options_class: ClassVar[type[FinetuneOptions]]

    train: Items
    test: Items
    labels: Sequence[tuple[str, ...]]
    outputs = 0
    dropout = 0.0
    cut = 0
    test_records: Sequence[Record] = ()
    unlearnt: Mapping[str, int] = MappingProxyType({})
    alone = 0

    def __init__(self, options: Options, policy: Policy | None = None) -> None:
        """Read the rows.

        Args:
            policy: gets the records that cannot be used; none may be, without.
        """
        self.options = options
        self.policy = policy or Policy()

    def examples(self, record: Record) -> Iterable[Record]:
        """Return what is learnt from a record, or tested on.

        Raises:
            DataError: if it cannot be used.
        """
        raise NotImplementedError

    @property
    def longest(self) -> int:
        """Tokens of the longest side at most."""
        return self.options.max_length

    @property
    def tested(self) -> int:
        """How many test rows are scored."""
        return len(self.test.truth)

    @property
    def label_field(self) -> str:
        """The field of the labels, which tells test items apart as their texts do."""
        return "label"

    @property
    def groups(self) -> list[int]:
        """The number of its group for each tested row, of rows that belong together; else nothing.

        Rows of one dialogue do, unless the task says otherwise.
        """
        return group_numbers([record.get("dialogue_id") for _, record in self.test_records])

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """The fields that all tested rows have, by their names."""
        return shared_fields(self.test_records)

    def setting(self, shots: int) -> str:
        """Return what a score record says of the setting."""
        return f"{shots}-shot fine-tuned"

    def sequences(self, encoder: Encoder, items: Items) -> list[list[np.ndarray]]:
        """Return the token sequences of each side."""
        return [self.tokens(encoder, side, encoder.max_length) for side in items.sides]

    def tokens(self, encoder: Encoder, side: Sequence[Turns], max_length: int) -> list[np.ndarray]:
        """Return the token sequences of one side, and count those that were cut."""
        from dialtools.encoder.sequences import sequences_of

        sequences, _, cut = sequences_of(encoder, side, max_length)
        self.cut += int(cut.sum())
        return sequences

    def loss(self, outputs: Sequence[Tensor], truth: Tensor) -> Tensor:
        """Return the loss of a batch in nats, from the outputs (n, C) or (n, D) of each side."""
        raise NotImplementedError

    def each(self, outputs: Sequence[np.ndarray], truth: np.ndarray) -> dict[str, np.ndarray]:
        """Return what each tested row adds to figures that are means over them.

        Returns:
            (tested,) shares by the names of the figures.
        """
        return {}

    def figures(self, outputs: Sequence[np.ndarray], truth: np.ndarray) -> Figures:
        """Return the scores in percent: the means of what each row adds, as a rule."""
        each = self.each(outputs, truth)
        return {name: 100 * float(shares.mean()) for name, shares in each.items()}

    def quality(self, figures: Figures) -> float:
        """Return what validation maximises."""
        raise NotImplementedError

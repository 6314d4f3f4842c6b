"""Intents by fine-tuning: mean of token vectors, dropout, one layer, cross entropy (METHODS 3.8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor
from torch.nn import functional

from dialtools.corpora.turns import Record, column_of_turns, field_of
from dialtools.errors import DataError
from dialtools.finetune.options import IntentProtocol
from dialtools.finetune.task import Figures, Items, Task, read


class Intent(Task[IntentProtocol]):
    """One class a row; a test row of a class without training rows is never right."""

    def __init__(self, options: IntentProtocol) -> None:
        super().__init__(options)
        train, test = (self._wanted(part) for part in read(options))
        labels = [self._label(record) for record in train]
        names = {name: i for i, name in enumerate(sorted(set(labels)))}
        if len(names) < 2 or not test:
            raise DataError(
                f"{len(names)} class to learn, {len(test)} rows to test: nothing to tell apart"
            )
        self.labels = [(label,) for label in labels]
        self.outputs, self.dropout = len(names), options.dropout
        self.train = Items(
            [column_of_turns(train, options.text)],
            np.asarray([names[label] for label in labels], np.int64),
        )
        known = [names.get(self._label(record), -1) for record in test]
        self.asked, self.test = (
            test,
            Items([column_of_turns(test, options.text)], np.asarray(known, np.int64)),
        )

    def _label(self, record: Record) -> str:
        where, fields = record
        value = field_of(where, fields, self.options.label)
        if not isinstance(value, str | int):
            raise DataError(
                f"{self.options.label}: expected a name, got {str(value)[:40]!r}", where=where
            )
        return str(value)

    def _wanted(self, records: list[Record]) -> list[Record]:
        left_out = self.options.without
        return [record for record in records if left_out is None or self._label(record) != left_out]

    def loss(self, outputs: Sequence[Tensor], truth: Tensor) -> Tensor:
        """Return the cross entropy."""
        return functional.cross_entropy(outputs[0], truth)

    def each(self, outputs: Sequence[np.ndarray], truth: np.ndarray) -> dict[str, np.ndarray]:
        """Return whether a row is right."""
        return {"accuracy": outputs[0].argmax(1) == truth}

    def figures(self, outputs: Sequence[np.ndarray], truth: np.ndarray, *, final: bool) -> Figures:
        """Return the accuracy."""
        return {
            name: 100 * float(right.mean()) for name, right in self.each(outputs, truth).items()
        }

    def quality(self, figures: Figures) -> float:
        return figures["accuracy"]

"""dial-eval finetune intent - intents, learnt from a few examples

  dial-eval finetune intent --model model/ tickets.jsonl
  dial-eval finetune intent --model bert-base-uncased --model dse/ \\
    --shots 1,5 --without oos tickets.jsonl -o scores.jsonl
  dial-eval finetune intent --resume --model dse/ \\
    --train train.jsonl --test test.jsonl -o dse.jsonl

Reads records of `text`, `label` and `split`, or --train FILE and --test FILE.
Each run draws k examples per class to train on and k to validate on, as
`dial-eval intent` draws them. Trains all of the encoder, and a layer on the
mean of the token vectors.

Tests the state with the best validation accuracy. It validates at step 0 and
then every 10 steps, or every epoch if that is longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dialtools.corpora.fields import as_text, label
from dialtools.corpora.options import OWN_TEST, TestShareOptions
from dialtools.corpora.splits import tested_of_labels
from dialtools.corpora.turns import Record, column_of_turns, field_of
from dialtools.errors import DataError
from dialtools.finetune.options import FinetuneOptions, training
from dialtools.finetune.task import Figures, Items, Task
from dialtools.options import option, restated
from dialtools.streams.options import column
from dialtools.streams.policy import Policy
from dialtools.streams.tally import counted
from dialtools.values import composed, share_below_one

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

NEVER = -1
"""Class of a test row whose label no training row has: no guess is right."""


@dataclass
class IntentProtocol(FinetuneOptions):
    """A layer of classes on the mean of the token vectors (DSE tables 7 and 10)."""

    text: str = column("text", help="field of the texts")
    label: str = column("label", help="field of the labels")
    without: str | None = option(
        None,
        metavar="LABEL",
        parse=composed,
        group="Input",
        help="leave out rows with this label, e.g. oos",
    )
    split: str = restated(FinetuneOptions, "split", not_with=OWN_TEST)
    train_split: str = restated(FinetuneOptions, "train_split", not_with=OWN_TEST)
    test_split: str = restated(FinetuneOptions, "test_split", not_with=OWN_TEST)
    test_share: float | None = restated(TestShareOptions, "test_share", not_with="train")
    dropout: float = training(
        0.1, metavar="SHARE", parse=share_below_one, help="dropout before the layer"
    )


class Intent(Task[IntentProtocol]):
    """One class a row; a test row of a class without training rows is never right."""

    name = "intent"
    options_class = IntentProtocol

    def __init__(self, options: IntentProtocol, policy: Policy | None = None) -> None:
        """Read the rows.

        Raises:
            DataError: if a label is no name, or there is nothing to tell apart.
        """
        from dialtools.finetune.rows import read_rows

        super().__init__(options, policy)
        tested = self._tested_of_labels if options.test_share else None
        rows = read_rows(options, self.examples, self.policy, tested)
        train, test = (self._wanted(part) for part in rows)
        names = sorted({self._label(record) for record in train})
        if len(names) < 2 or not test:
            raise DataError(
                f"{counted(len(names), 'class')} to learn, {counted(len(test), 'row')} to test: "
                "nothing to tell apart"
            )
        place = {name: i for i, name in enumerate(names)}
        self.labels = [(self._label(record),) for record in train]
        self.outputs = len(names)
        self.dropout = options.dropout
        self.train = self._items(train, place)
        self.test = self._items(test, place)
        self.test_records = test
        asked = map(self._label, test)
        self.unlearnt = Counter(label for label in asked if label not in place)

    @property
    def label_field(self) -> str:
        return self.options.label

    def examples(self, record: Record) -> list[Record]:
        """Return the record, if it has a text and a label; of a drawn test none that was made."""
        self._label(record)
        column_of_turns([record], self.options.text)
        made = self.options.test_share and record[1].get("synthetic")  # of a tested text, maybe
        return [] if made else [record]

    def _tested_of_labels(self, records: Sequence[Record]) -> list[bool]:
        labels = [self._label(record) for record in records]
        texts = [str(fields[self.options.text]) for _, fields in records]
        share = self.options.test_share or 0.0
        return tested_of_labels(labels, texts, share, seed=self.options.seed)

    def _items(self, records: Sequence[Record], place: dict[str, int]) -> Items:
        import numpy as np

        classes = [place.get(self._label(record), NEVER) for record in records]
        return Items([column_of_turns(records, self.options.text)], np.asarray(classes, np.int64))

    def _label(self, record: Record) -> str:
        where, fields = record
        return as_text(field_of(where, fields, self.options.label, label))

    def _wanted(self, records: Sequence[Record]) -> list[Record]:
        left_out = self.options.without
        return [record for record in records if left_out is None or self._label(record) != left_out]

    def loss(self, outputs: Sequence[Tensor], truth: Tensor) -> Tensor:
        """Return the cross entropy."""
        from torch.nn.functional import cross_entropy

        return cross_entropy(outputs[0], truth)

    def each(self, outputs: Sequence[np.ndarray], truth: np.ndarray) -> dict[str, np.ndarray]:
        """Return whether a row is right."""
        return {"accuracy": outputs[0].argmax(1) == truth}

    def quality(self, figures: Figures) -> float:
        return figures["accuracy"]

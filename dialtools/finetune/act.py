"""Acts by fine-tuning: mean of token vectors, dropout, one layer, a sigmoid each (METHODS 3.8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor
from torch.nn import functional

from dialtools.corpora.turns import Record, Turns, column_of_turns, field_of
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.tokens import tokenise
from dialtools.errors import DataError
from dialtools.finetune.options import ActProtocol
from dialtools.finetune.task import Figures, Items, Task, read
from dialtools.metrics import f1

WORDS = 0.9
"""Share of max-length that the reference keeps, in words, before it makes tokens of them."""


class Act(Task[ActProtocol]):
    """A set of acts a row; the labels are those of training and test rows, and one never guessed has F1 0."""

    def __init__(self, options: ActProtocol) -> None:
        super().__init__(options)
        train, test = read(options)
        field = (
            options.history if options.target == "next" else f"{options.history}+{options.response}"
        )
        acts = [[self._acts(record) for record in part] for part in (train, test)]
        names = sorted({name for part in acts for own in part for name in own})
        if len(names) < 2:
            raise DataError(
                f"{len(names)} act in all: nothing to tell apart", where=train[0][0].name
            )
        self.labels = [tuple(sorted(own)) for own in acts[0]]
        self.outputs, self.dropout = len(names), options.dropout
        place = {name: i for i, name in enumerate(names)}
        self.train, self.test = (
            Items([column_of_turns(part, field)], indicators(own, place))
            for part, own in zip((train, test), acts, strict=True)
        )

    def _acts(self, record: Record) -> set[str]:
        where, fields = record
        value = field_of(where, fields, self.options.label)
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return set(value)
        raise DataError(
            f"{self.options.label}: expected a list of names, got {str(value)[:40]!r}", where=where
        )

    def sequences(self, encoder: Encoder, items: Items) -> list[list[np.ndarray]]:
        """Return the token sequences, cut as --truncation says."""
        if self.options.truncation == "newest":
            return super().sequences(encoder, items)
        return [[last_words(encoder, turns, self.options.max_length) for turns in items.sides[0]]]

    def loss(self, outputs: Sequence[Tensor], truth: Tensor) -> Tensor:
        """Return the mean binary cross entropy of all acts."""
        return functional.binary_cross_entropy_with_logits(outputs[0], truth)

    def figures(self, outputs: Sequence[np.ndarray], truth: np.ndarray, *, final: bool) -> Figures:
        """Return micro, macro, weighted and samples F1 of the acts whose sigmoid is above 0.5."""
        counts = f1.counts(truth, outputs[0] > 0)
        sums = counts.sum(0, dtype=np.float64)
        figures = {
            f"{name}-f1": 100 * float(average(sums)) for name, average in f1.AVERAGES.items()
        }
        return {**figures, "samples-f1": 100 * float(f1.by_row(counts).mean())}

    def quality(self, figures: Figures) -> float:
        """Return the mean of micro and macro F1."""
        return (figures["micro-f1"] + figures["macro-f1"]) / 2


def indicators(acts: Sequence[set[str]], place: dict[str, int]) -> np.ndarray:
    """Return (N, A) float32, 1 where a row has an act."""
    table = np.zeros((len(acts), len(place)), np.float32)
    for row, own in enumerate(acts):
        table[row, [place[name] for name in own]] = 1
    return table


def last_words(encoder: Encoder, turns: Turns, max_length: int) -> np.ndarray:
    """Return a sequence as DSE's code cuts it: the last int(0.9 max_length) words, then the first tokens of these.

    Words are what blanks separate; the mark before each turn ([SEP], or the speaker's token of
    models that have them) counts as one. A word of several tokens can so push the newest words out.
    """
    texts, roles = turns
    spoken = encoder.role_tokens and roles
    marks = (
        [np.asarray([encoder.role_tokens[r]], np.int32) for r in roles]
        if spoken
        else [encoder.special.separator] * len(texts)
    )
    words = [
        (mark, word)
        for mark, text in zip(marks, texts, strict=True)
        for word in (None, *text.split())
    ]
    pieces: list[np.ndarray] = []
    spans: list[list[str]] = [[]]
    for mark, word in words[-int(WORDS * max_length) :]:
        if word is None:
            pieces.append(mark)
            spans.append([])
        else:
            spans[-1].append(word)
    ids, ends = tokenise(encoder.tokenizer, [" ".join(span) for span in spans])
    body = [ids[ends[0] : ends[1]]]
    for i, mark in enumerate(pieces, 1):
        body += [mark, ids[ends[i] : ends[i + 1]]]
    special = encoder.special
    room = max(max_length - len(special.prefix) - len(special.suffix), 1)
    return np.concatenate([special.prefix, np.concatenate(body)[:room], special.suffix])

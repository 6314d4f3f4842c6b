"""Pairs and a teacher together: what belongs together, and where texts lie meanwhile.

Pairs alone teach what follows what, and texts that they do not tell apart drift together. The
teacher's vectors keep them where they are to be. The loss is that of the pairs and a multiple of
the teacher's, in each step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from dialtools.train.data.sampler import Grouped, Sampler
from dialtools.train.objectives.base import Batch, Figures, Objective, Part, Setting
from dialtools.train.objectives.distill import Distill

SHARE = 4
"""Pairs of a batch to each text of the teacher's."""
STREAM = 1 << 41
"""Of the orders of the teacher's texts; those of pairs and of what is drawn are below."""


class Told(NamedTuple):
    """A micro-batch of the teacher's texts."""

    ids: Tensor
    mask: Tensor


class Both(NamedTuple):
    """The batches of one step."""

    pairs: Batch
    texts: Batch


class WithTeacher(Objective[Any]):
    """Learns pairs by one objective, and a teacher's vectors beside them.

    Args:
        weight: of the teacher's loss.
    """

    def __init__(self, pairs: Objective[Any], teacher: Distill, *, weight: float) -> None:
        nn.Module.__init__(self)
        self.pairs = pairs
        self.teacher = teacher
        self.weight = weight

    @property
    def setting(self) -> Setting[Any]:
        """That of the pairs."""
        return self.pairs.setting

    def cut(self, *, max_tokens: int, packed: bool) -> None:
        """Cut micro-batches so, of both."""
        self.pairs.cut(max_tokens=max_tokens, packed=packed)
        self.teacher.cut(max_tokens=max_tokens, packed=packed)

    def sampler(self, batch_size: int) -> Sampler | Grouped:
        """Return which pairs each step sees, and settle which texts."""
        texts = max(1, batch_size // SHARE)
        learnt = self.teacher.setting
        self.texts = Sampler(learnt.pairs, batch_size=texts, seed=learnt.seed, stream=STREAM)
        return self.pairs.sampler(batch_size)

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Return the micro-batches of the pairs, then those of the texts."""
        both = Both(
            self.pairs.collate(pairs, step), self.teacher.collate(self.texts.batch(step), step)
        )
        told = [Told(*part) for part in both.texts.parts]
        sizes = np.concatenate([batch.sizes for batch in both])
        return Batch(
            [*both.pairs.parts, *told], both.pairs.place, sizes, pairs, both, both.pairs.packed
        )

    def encode(self, part: Part) -> Tensor:
        """Return the rows of a micro-batch, the objective's or the teacher's."""
        return (self.teacher if isinstance(part, Told) else self.pairs).encode(part)

    def nested_loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the loss of the pairs, and `weight` times that of the texts."""
        both: Both = batch.extra
        of_texts = sum(len(part[0]) for part in both.texts.parts)
        ours, theirs = rows[:-of_texts], rows[-of_texts:]
        taught = self.teacher.loss(theirs, both.texts, figures)
        return self.pairs.nested_loss(ours, both.pairs, figures) + self.weight * taught

    def note(self) -> str:
        """Return what the objective of the pairs has to say."""
        return self.pairs.note()

    def save(self, directory: Path) -> None:
        """Write what stays of the objective of the pairs."""
        self.pairs.save(directory)

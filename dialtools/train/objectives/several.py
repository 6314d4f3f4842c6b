"""Contrast and matching in one run; what a pair is made of decides which of them learns from it.

A pair with turns after its response is matched (DialogueCSE), any other is contrasted (DSE). A
batch is of one kind of pairs, so that texts of one kind are no negatives of another's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dialtools.errors import DataError
from dialtools.train.data.sampler import Grouped
from dialtools.train.objectives.base import Batch, Objective, Part, Setting
from dialtools.train.objectives.catalog import SeveralOptions
from dialtools.train.objectives.contrast import Contrast, groups
from dialtools.train.objectives.matching import Matching, Roles

OF_TOKENS = torch.zeros(0)
"""Stands beside the tokens of a micro-batch that is matched: all their vectors are wanted."""


class Several(Objective[SeveralOptions]):
    """Gives each batch to the objective of its pairs."""

    def __init__(self, setting: Setting[SeveralOptions]) -> None:
        super().__init__(setting)
        self.is_matched = np.diff(setting.store.follow_ends, prepend=0) > 0
        matched = self.is_matched[setting.pairs]
        if matched.all() or not matched.any():
            kind = "contrast" if matched.all() else "match"
            raise DataError(
                f"nothing to {kind}: {'all' if matched.all() else 'no'} pairs have turns after "
                "their response",
                hint="dial-pairs --window 1,2,3 makes pairs to contrast, "
                "--window 3 --follow 3 pairs to match",
            )
        self.contrast = Contrast(replace(setting, pairs=setting.pairs[~matched]))
        options = setting.options.of_matching
        self.matching = Matching(replace(setting, pairs=setting.pairs[matched], options=options))

    def cut(self, max_tokens: int) -> None:
        """Make micro-batches of so many padded tokens at most from now on."""
        for objective in (super(), self.contrast, self.matching):
            objective.cut(max_tokens)

    def sampler(self, batch_size: int) -> Grouped:
        """Batches of pairs that are matched, and of pairs that are contrasted (--batches)."""
        s = self.setting
        of = np.where(self.is_matched[s.pairs], 0, 1 + groups(s))
        return Grouped(s.pairs, of, batch_size=batch_size, seed=s.seed)

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Return a batch as its objective has it."""
        if not self.is_matched[pairs[0]]:
            return self.contrast.collate(pairs, step)
        batch = self.matching.collate(pairs, step)
        return replace(batch, parts=[(*part, OF_TOKENS) for part in batch.parts])

    def encode(self, part: Part) -> Tensor:
        """Return (n, D) pooled vectors, or those of all tokens of what is matched."""
        if part[-1] is OF_TOKENS:
            return self.matching.encode(part[:-1])
        return self.contrast.encode(part)

    def save(self, directory: Path) -> None:
        """Keep the head of the contrast, if so wished."""
        self.contrast.save(directory)

    def loss(self, rows: Tensor, batch: Batch, figures: dict[str, float]) -> Tensor:
        """Return the mean loss of a batch, as its objective has it."""
        if isinstance(batch.extra, Roles):
            return self.matching.loss(rows, batch, figures)
        return self.contrast.loss(rows, batch, figures)

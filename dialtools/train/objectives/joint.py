"""TOD-BERT joint: a response picked for a context, and words of the context guessed.

One pass over each context serves both: what is pooled of it is of the context as it is hidden.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dialtools.encoder.batches import where
from dialtools.train.draws import generator
from dialtools.train.objectives.base import Batch, Figures, Part, Setting
from dialtools.train.objectives.contrast import Contrast, Rows
from dialtools.train.objectives.mlm import STREAM, Hiding, guess, hide, new_head, word_head


class Both(NamedTuple):
    """What both losses of a batch look at.

    Attributes:
        texts: the rows of the contrast.
        vectors: (S,) where the pooled vector of each sequence stands among the rows of all parts.
        words: (M,) where those of hidden words stand.
        truth: (M,) the hidden words.
    """

    texts: Rows
    vectors: np.ndarray
    words: np.ndarray
    truth: np.ndarray


class Joint(Contrast):
    """Contrasts contexts, of which words are hidden, with responses, and guesses those words."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self.words = word_head(setting)

    def note(self) -> str:
        """Tell of a head over words that has learnt nothing."""
        return new_head(self.words, self.setting)

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Hide words of each distinct context; which, depends on seed and step alone."""
        batch = super().collate(pairs, step)
        draw = generator(self.setting.seed, step, stream=STREAM)
        contexts = set(batch.place[batch.extra.sequence[: len(pairs)]].tolist())
        parts: list[Part] = []
        vectors: list[np.ndarray] = []
        words: list[np.ndarray] = []
        row = at = 0
        for ids, mask in batch.parts:
            own = [r for r in range(len(ids)) if row + r in contexts]
            hidden, labels = self._hidden(ids, mask, own, draw)
            parts.append((hidden, mask, labels))
            count = int((labels >= 0).sum())
            vectors.append(at + np.arange(len(ids)))
            words.append(at + len(ids) + np.arange(count))
            row, at = row + len(ids), at + len(ids) + count
        truth = np.concatenate([labels[labels >= 0].numpy() for _, _, labels in parts])
        both = Both(batch.extra, np.concatenate(vectors), np.concatenate(words), truth)
        return replace(batch, parts=parts, extra=both)

    def _hidden(
        self, ids_NT: Tensor, mask_NT: Tensor, rows: list[int], draw: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return the ids with words of some rows hidden, and the hidden words, -1 elsewhere."""
        hiding = Hiding.of(self.setting)
        hidden_NT, labels_NT = ids_NT.clone(), torch.full_like(ids_NT, -1)
        for row in rows:
            sequence = ids_NT[row, mask_NT[row].bool()].numpy()
            changed, places = hide(sequence, draw, hiding)
            hidden_NT[row, : len(changed)] = torch.from_numpy(changed)
            labels_NT[row, places] = torch.from_numpy(sequence[places])
        return hidden_NT, labels_NT

    def encode(self, part: Part) -> Tensor:
        """Return (n + m, D): the pooled vectors of n sequences, then those of m hidden words."""
        ids, mask, labels = part
        tokens, pooled = self.setting.encoder.both(ids, mask)
        return torch.cat([pooled, where(tokens, labels >= 0).to(pooled)])

    def loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the sum of both losses."""
        both: Both = batch.extra
        texts = rows[self.tensor(both.vectors)]
        contrast = super().loss(texts, replace(batch, extra=both.texts), figures)
        embeddings = self.setting.encoder.backbone.get_input_embeddings().weight
        hidden = rows[self.tensor(both.words)]
        words = guess(self.words(hidden, embeddings), self.tensor(both.truth), figures)
        figures["words"] = words.detach()
        return contrast + words

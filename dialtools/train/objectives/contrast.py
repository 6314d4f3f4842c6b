"""Contexts and responses: one vector each, a head, a contrast (DSE, WMDC, SimCSE, TOD-BERT)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from torch import Tensor, nn

from dialtools.train import heads, health
from dialtools.train.data import duplicates
from dialtools.train.data.collate import contexts, responses
from dialtools.train.losses.catalog import LOSSES
from dialtools.train.objectives.base import Batch, Objective, Setting


class Rows(NamedTuple):
    """Of 2N rows, the anchors, then the positives: their sequences, and an integer for each distinct text."""

    sequence: np.ndarray
    keys: np.ndarray


class Contrast(Objective):
    """Pulls a context and its response together, against others of the batch."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        options, store = setting.options, setting.store
        windows = np.unique(store.window[setting.pairs]).tolist()
        self.head = heads.build(
            options.head or "none", setting.encoder.dimension, windows=windows, seed=options.seed
        )
        loss = LOSSES[options.loss or "hard-negative"]
        self.raw = loss.raw
        self.loss_function: Callable[..., Tensor] = loss.load()

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Within a side each distinct sequence is encoded once.

        Sides never share an encoding: partners need dropout masks of their own (SimCSE,
        DSE-dropout).
        """
        s = self.setting
        sequences: list[np.ndarray] = []
        rows, keys = [], []
        texts: dict[bytes, int] = {}
        for side in (contexts, responses):
            seen: dict[bytes, int] = {}
            for sequence in side(s.store, pairs, s.special, s.lengths, s.role_tokens):
                name = sequence.tobytes()
                if name not in seen:
                    seen[name] = len(sequences)
                    sequences.append(sequence)
                rows.append(seen[name])
                keys.append(texts.setdefault(name, len(texts)))
        return self.batches(sequences, pairs, Rows(np.asarray(rows), np.asarray(keys)))

    def loss(self, rows: Tensor, batch: Batch, figures: dict[str, float]) -> Tensor:
        """Return the weighted mean loss of a batch."""
        options, store, about = self.setting.options, self.setting.store, batch.about
        window = self.tensor(np.tile(store.window[batch.pairs], 2))
        headed = self.head(rows[self.tensor(batch.place[about.sequence])], window)
        unit = nn.functional.normalize(headed, dim=1)
        anchor, positive = (headed if self.raw else unit).chunk(2)
        n = len(anchor)
        false = duplicates.same_text(about.keys[:n], about.keys[n:])
        if options.mask_false_negatives:
            false |= duplicates.neighbours(store.dialogue[batch.pairs], store.turn[batch.pairs])
        excluded = self.tensor(false) if options.mask_false_negatives else None
        if isinstance(self.head, heads.PerWindow) and options.batches != "by-window":
            apart = (
                window[:, None] != window[None, :]
            )  # rows of different heads live in different spaces
            excluded = apart if excluded is None else excluded | apart
        losses = self.loss_function(
            anchor, positive, temperature=options.temperature, excluded=excluded
        )
        first, second = unit.chunk(2)
        figures.update(
            alignment=health.alignment(first, second),
            uniformity=health.uniformity(unit),
            false_negatives=duplicates.rate(false),
        )
        return (self.tensor(self.setting.weights[batch.pairs]).to(losses) * losses).mean()

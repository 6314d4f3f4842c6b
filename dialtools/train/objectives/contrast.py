"""Contexts and responses: one vector each, a head, a contrast (DSE, WMDC, SimCSE, TOD-BERT)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from torch import Tensor, nn

from dialtools.train import heads, health
from dialtools.train.data import duplicates
from dialtools.train.data.collate import contexts, responses
from dialtools.train.data.sampler import ByWindow, Sampler
from dialtools.train.data.weights import pair_weights
from dialtools.train.losses.catalog import LOSSES
from dialtools.train.objectives.base import Batch, Objective, Setting
from dialtools.train.objectives.catalog import ContrastOptions


class Rows(NamedTuple):
    """Of 2N rows, the anchors, then the positives.

    Attributes:
        sequence: the sequence of each row.
        keys: an integer for each distinct text.
    """

    sequence: np.ndarray
    keys: np.ndarray


class Contrast(Objective[ContrastOptions]):
    """Pulls a context and its response together, against others of the batch."""

    def __init__(self, setting: Setting[ContrastOptions]) -> None:
        super().__init__(setting)
        options, store = setting.options, setting.store
        self.head = heads.build(
            options.head,
            setting.encoder.dimension,
            windows=np.unique(store.window[setting.pairs]).tolist(),
            seed=setting.seed,
        )
        self.weights = pair_weights(
            store, setting.pairs, kind=options.weights, mean_one=options.weights_mean_one
        )
        loss = LOSSES[options.loss]
        self.loss_function: Callable[..., Tensor] = loss.load()
        self.raw = loss.raw

    def sampler(self, batch_size: int) -> Sampler | ByWindow:
        """Batches of one window size each, if so wished."""
        s = self.setting
        if s.options.batches == "by-window":
            windows = s.store.window[s.pairs]
            return ByWindow(s.pairs, windows, batch_size=batch_size, seed=s.seed)
        return super().sampler(batch_size)

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Within a side each distinct sequence is encoded once.

        Sides never share an encoding: partners need dropout masks of their own (SimCSE,
        DSE-dropout).
        """
        s = self.setting
        sequences: list[np.ndarray] = []
        rows: list[int] = []
        keys: list[int] = []
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
        options, store = self.setting.options, self.setting.store
        window = self.tensor(np.tile(store.window[batch.pairs], 2))
        headed = self.head(rows[self.tensor(batch.place[batch.extra.sequence])], window)
        unit = nn.functional.normalize(headed, dim=1)
        anchor, positive = (headed if self.raw else unit).chunk(2)
        false = false_negatives(batch, self.setting)

        excluded = self.tensor(false) if options.mask_false_negatives else None
        if isinstance(self.head, heads.PerWindow) and options.batches != "by-window":
            apart = window[:, None] != window[None, :]  # rows of different heads: different spaces
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
        return (self.tensor(self.weights[batch.pairs]).to(losses) * losses).mean()


def false_negatives(batch: Batch, setting: Setting[ContrastOptions]) -> np.ndarray:
    """Return (2N, 2N) bool: rows of the same text; with masking, neighbours in a dialogue too."""
    store = setting.store
    anchor_keys, positive_keys = np.split(batch.extra.keys, 2)
    false = duplicates.same_text(anchor_keys, positive_keys)
    if setting.options.mask_false_negatives:
        false |= duplicates.neighbours(store.dialogue[batch.pairs], store.turn[batch.pairs])
    return false

"""Contexts and responses: one vector each, a head, a contrast (DSE, WMDC, SimCSE, TOD-BERT)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.kept_head import save_heads
from dialtools.encoder.randomness import seeded
from dialtools.errors import DataError
from dialtools.train import heads, health
from dialtools.train.data import duplicates
from dialtools.train.data.collate import contexts, named_negatives, negatives, responses
from dialtools.train.data.sampler import Grouped, Sampler
from dialtools.train.data.weights import pair_weights
from dialtools.train.losses.catalog import LOSSES
from dialtools.train.objectives.base import Batch, Figures, Objective, Setting
from dialtools.train.objectives.catalog import ContrastOptions
from dialtools.train.objectives.start import FrozenStart, held_alike

SIDES = (contexts, responses, negatives)


class Rows(NamedTuple):
    """Of 2N + M rows, the anchors, then the positives, then the negatives that pairs name.

    Attributes:
        sequence: the sequence of each row.
        keys: an integer for each distinct text.
        named_window: (M,) of the pairs that name the negatives.
    """

    sequence: np.ndarray
    keys: np.ndarray
    named_window: np.ndarray = np.zeros(0, np.int16)


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
        self.classifier = similarity_layer(setting) if options.classify_weight else None
        self.start: FrozenStart | None = None
        if options.guide_floor < 1:
            self.start = FrozenStart(setting.encoder, precision=setting.precision)

    def sampler(self, batch_size: int) -> Sampler | Grouped:
        """Batches of one window size or kind each, if so wished."""
        s = self.setting
        if s.options.batches == "mixed":
            return super().sampler(batch_size)
        of = s.store.window if s.options.batches == "by-window" else s.store.kind
        return Grouped(s.pairs, of[s.pairs], batch_size=batch_size, seed=s.seed)

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Within a side each distinct sequence is encoded once.

        Sides never share an encoding: partners need dropout masks of their own (SimCSE,
        DSE-dropout). Negatives are on the side of the responses, and a row each, however often
        they are named: of those that are responses of the batch there is a row already.
        """
        s, n = self.setting, len(pairs)
        sides = [side(s.store, pairs, s.joining) for side in SIDES]
        of_side = np.repeat(np.minimum(range(len(SIDES)), 1), [len(side) for side in sides])
        sequence, keys, sequences = _distinct(list(chain(*sides)), of_side)
        if len(sequence) == 2 * n:
            return self.batches(sequences, pairs, Rows(sequence, keys))
        owner = named_negatives(s.store, pairs)[1]
        window = s.store.window[pairs[np.concatenate([np.tile(np.arange(n), 2), owner])]]
        space = window if _are_apart(self.head, s.options) else np.zeros_like(window)
        first = np.unique(np.stack([sequence, space]), axis=1, return_index=True)[1]
        kept = np.concatenate([np.arange(2 * n), np.sort(first[first >= 2 * n])])
        rows = Rows(sequence[kept], keys[kept], window[kept[2 * n :]])
        return self.batches(sequences, pairs, rows)

    def loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the weighted mean loss of a batch."""
        options, n = self.setting.options, len(batch.pairs)
        places = self.tensor(batch.place[batch.extra.sequence])
        window = self._windows(batch)
        headed = self.head(rows[places], torch.from_numpy(window))
        unit = nn.functional.normalize(headed, dim=1)
        sizes = [n, n, len(unit) - 2 * n]
        anchor, positive, negative = (headed if self.raw else unit).split(sizes)
        false = false_negatives(batch, self.setting)
        start = self.start.rows(batch.parts)[places] if self.start else None

        losses = self.loss_function(
            anchor,
            positive,
            temperature=options.temperature,
            excluded=self._excluded(false, window, start, figures),
            negative_MD=negative if len(negative) else None,
        )
        first, second, _ = unit.split(sizes)
        figures.update(
            alignment=health.alignment(first, second),
            uniformity=health.uniformity(unit[: 2 * n]),
            false_negatives=duplicates.rate(false),
        )
        if len(negative):
            figures["named_negatives"] = len(negative) / n
        loss = self._mean(losses, batch)
        if self.classifier is not None:
            pooled = rows[places[: 2 * n]]
            loss = loss + options.classify_weight * self._told_apart(pooled, batch, figures)
        return loss

    def _mean(self, losses_N: Tensor, batch: Batch) -> Tensor:
        """Return the weighted mean of the losses of pairs that are similar (PairSupCon's p_i)."""
        weighted = self.tensor(self.weights[batch.pairs]).to(losses_N) * losses_N
        similar = np.asarray(self.setting.store.similar[batch.pairs], bool)
        if similar.all():
            return weighted.mean()
        return weighted[self.tensor(similar.nonzero()[0])].sum() / max(1, int(similar.sum()))

    def _told_apart(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the mean cross entropy of which pairs are similar, from vectors before a head."""
        assert self.classifier is not None
        u, v = rows.chunk(2)
        logits = self.classifier(torch.cat([u, v, (u - v).abs()], 1)).float()
        truth = self.tensor(self.setting.store.similar[batch.pairs]).long()
        figures["accuracy"] = 100 * (logits.argmax(1) == truth).float().mean()
        return nn.functional.cross_entropy(logits, truth)

    def save(self, directory: Path) -> None:
        """Keep the head, if so wished."""
        if self.setting.options.keep_head:
            save_heads(heads.kept(self.head), directory)

    def _windows(self, batch: Batch) -> np.ndarray:
        """Return (2N + M,) the turns of context of the pair of each row."""
        windows = np.tile(self.setting.store.window[batch.pairs], 2)
        return np.concatenate([windows, batch.extra.named_window])

    def _excluded(
        self, false: np.ndarray, window: np.ndarray, start: Tensor | None, figures: Figures
    ) -> Tensor | None:
        """Return (2N, 2N + M) bool: what is no negative of a row; None if all are."""
        options, n = self.setting.options, len(false) // 2
        masks: list[Tensor] = []
        if options.mask_false_negatives:
            masks.append(self.tensor(false))
        if _are_apart(self.head, options):
            own = self.tensor(window)
            masks.append(own[: 2 * n, None] != own)
        if start is not None:
            margin, floor = options.guide_margin, options.guide_floor
            alike = held_alike(start, pairs=n, margin=margin, floor=floor)
            figures["held_alike"] = _rate(alike)
            masks.append(alike)
        return torch.stack(masks).any(0) if masks else None


def _rate(excluded: Tensor) -> Tensor:
    """Return the share of negatives that are excluded, whatever is said of oneself and partners."""
    n = len(excluded) // 2
    none = torch.eye(n, dtype=torch.bool, device=excluded.device).repeat(2, 2)
    here = excluded.sum() - (excluded[:, : 2 * n] & none).sum()
    return here / max(1, 2 * n * (excluded.shape[1] - 2))


def similarity_layer(setting: Setting[Any]) -> nn.Module:
    """Return PairSupCon's layer over [u; v; |u - v|]: is a pair similar?

    Raises:
        DataError: if all pairs are.
    """
    if np.asarray(setting.store.similar)[setting.pairs].all():
        raise DataError(
            "all pairs are similar: --classify-weight has nothing to tell apart",
            hint="dial-pairs --kind nli writes pairs that are not",
        )
    with seeded(setting.seed):
        return nn.Linear(3 * setting.encoder.dimension, 2, bias=False)


def _are_apart(head: nn.Module, options: ContrastOptions) -> bool:
    """Tell whether a batch has rows in different spaces, of the heads of their windows."""
    return isinstance(head, heads.PerWindow) and options.batches != "by-window"


def _distinct(
    rows: list[np.ndarray], side: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return the sequence of each row, its text as an integer, and the sequences.

    Args:
        side: of each row; sides share no sequence.
    """
    sequences: list[np.ndarray] = []
    seen: dict[tuple[int, bytes], int] = {}
    texts: dict[bytes, int] = {}
    places, keys = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for i, (row, where) in enumerate(zip(rows, side.tolist(), strict=True)):
        name = row.tobytes()
        place = seen.setdefault((where, name), len(sequences))
        if place == len(sequences):
            sequences.append(row)
        places[i], keys[i] = place, texts.setdefault(name, len(texts))
    return places, keys, sequences


def false_negatives(batch: Batch, setting: Setting[ContrastOptions]) -> np.ndarray:
    """Return (2N, 2N + M) bool: columns of a row's text, or of its partner's.

    With masking, neighbours in a dialogue too.
    """
    store, n = setting.store, len(batch.pairs)
    anchors, positives, others = np.split(batch.extra.keys, [n, 2 * n])
    false = duplicates.same_text(anchors, positives, others)
    if setting.options.mask_false_negatives:
        near = duplicates.neighbours(
            store.dialogue[batch.pairs], store.turn[batch.pairs], anchors == positives
        )
        false[:, : 2 * n] |= near
    return false

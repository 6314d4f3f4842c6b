"""TaDSE: utterances and their templates, each against its own second pass, and the one against the other (METHODS 6)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.alignment import alignment_layer, save_alignment
from dialtools.encoder.tokens import assemble
from dialtools.train import heads, health
from dialtools.train.losses.template import Terms, Views, template_losses
from dialtools.train.objectives.base import Batch, Objective, Setting


class Rows(NamedTuple):
    """The sequences of N utterances and templates, in each of two passes; an integer for each distinct template."""

    utterance: np.ndarray
    utterance_again: np.ndarray
    template: np.ndarray
    template_again: np.ndarray
    keys: np.ndarray


class Templates(Objective):
    """Utterances and templates in one space; a record without a template is its own."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        options = setting.options
        self.head = heads.build(
            options.head or "none", setting.encoder.dimension, windows=[1], seed=options.seed
        )
        self.align = (
            alignment_layer(setting.encoder.dimension, seed=options.seed) if options.align else None
        )
        one = options.temperature or 0.05
        self.temperature = Terms(
            one, options.template_temperature or one, options.pair_temperature or one
        )
        self.share = Terms(
            *(
                1.0 if s is None else s
                for s in (options.utterance_share, options.template_share, options.pair_share)
            )
        )

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Within a pass each distinct text is encoded once; the passes differ by their dropout alone."""
        s = self.setting
        utterances = s.store.response[pairs].astype(np.int64)
        templates = s.store.template[pairs].astype(np.int64)
        templates = np.where(templates < 0, utterances, templates)
        sequences: list[np.ndarray] = []
        sides = []
        for side in (utterances, utterances, templates, templates):
            distinct, place = np.unique(side, return_inverse=True)
            sides.append(len(sequences) + place)
            sequences += [
                assemble(
                    [s.store.utterance(int(u))],
                    s.special,
                    max_length=s.lengths.response,
                    newest=False,
                )[0]
                for u in distinct
            ]
        return self.batches(sequences, pairs, Rows(*sides, templates))

    def loss(self, rows: Tensor, batch: Batch, figures: dict[str, float]) -> Tensor:
        """Return the mean loss of a batch."""
        options, about = self.setting.options, batch.about
        window = self.tensor(np.ones(len(rows), np.int64))
        headed = self.head(rows, window)
        u, again, t, t_again = (headed[self.tensor(batch.place[side])] for side in about[:4])
        if self.align is not None:
            t, t_again = self.align(t), self.align(t_again)
        views = Views(*(nn.functional.normalize(side, dim=1) for side in (u, again, t, t_again)))
        same = (about.keys[:, None] == about.keys[None, :]) & ~np.eye(len(u), dtype=bool)
        excluded = self.tensor(same) if options.mask_false_negatives else None
        losses = template_losses(
            views,
            temperature=self.temperature,
            share=self.share,
            negatives=options.pair_negatives or "utterances",
            same=excluded,
        )
        both = torch.cat([views.utterance, views.utterance_again])
        figures.update(
            alignment=health.alignment(views.utterance, views.utterance_again),
            uniformity=health.uniformity(both),
            template_alignment=health.alignment(views.template, views.utterance),
            false_negatives=float(same.sum() / max(1, len(u) * (len(u) - 1))),
        )
        return losses.mean()

    def save(self, directory: Path) -> None:
        """Keep the alignment layer: compression applies it to templates (METHODS 11, 31)."""
        if self.align is not None:
            save_alignment(self.align, directory)

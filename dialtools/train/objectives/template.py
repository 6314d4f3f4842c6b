"""TaDSE: utterances and templates, each against its second pass and the other (eq. 1-4)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.alignment import alignment_layer, save_alignment
from dialtools.encoder.kept_head import save_heads
from dialtools.train import heads, health
from dialtools.train.losses.template import Same, Terms, Views, template_losses
from dialtools.train.objectives.base import Batch, Figures, Objective, Setting
from dialtools.train.objectives.catalog import TemplateOptions


class Rows(NamedTuple):
    """The sequences of N utterances and templates, in each of two passes; of one text, one."""

    utterance: np.ndarray
    utterance_again: np.ndarray
    template: np.ndarray
    template_again: np.ndarray


class Templates(Objective[TemplateOptions]):
    """Utterances and templates in one space; a record without a template is its own."""

    def __init__(self, setting: Setting[TemplateOptions]) -> None:
        super().__init__(setting)
        options, dimension = setting.options, setting.encoder.dimension
        # One head for all: templates have no windows.
        self.head = heads.build(options.head, dimension, windows=[1], seed=setting.seed)
        self.align = alignment_layer(dimension, seed=setting.seed) if options.align else None
        self.temperature = Terms(
            options.temperature, options.template_temperature, options.pair_temperature
        )
        self.share = Terms(options.utterance_weight, options.template_weight, options.pair_weight)

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Within a pass each distinct text is encoded once; passes differ by dropout alone."""
        s = self.setting
        utterances = s.store.response[pairs].astype(np.int64)
        templates = s.store.template[pairs].astype(np.int64)
        templates = np.where(templates < 0, utterances, templates)
        sequences: list[np.ndarray] = []
        rows = Rows(
            utterance=_add_distinct(sequences, utterances, s),
            utterance_again=_add_distinct(sequences, utterances, s),
            template=_add_distinct(sequences, templates, s),
            template_again=_add_distinct(sequences, templates, s),
        )
        return self.batches(sequences, pairs, rows)

    def loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the mean loss of a batch."""
        options = self.setting.options
        views = self._views(rows, batch)
        same = Same(*map(self._equal, (batch.extra.utterance, batch.extra.template)))
        losses = template_losses(
            views,
            temperature=self.temperature,
            share=self.share,
            negatives=options.pair_negatives,
            same=same if options.mask_false_negatives else None,
        )
        both = torch.cat([views.utterance, views.utterance_again])
        false, n = same.utterance | same.template, len(batch.pairs)
        figures.update(
            alignment=health.alignment(views.utterance, views.utterance_again),
            uniformity=health.uniformity(both),
            template_alignment=health.alignment(views.template, views.utterance),
            false_negatives=(false.sum() - n) / max(1, n * (n - 1)),
        )
        return losses.mean()

    def _equal(self, texts_N: np.ndarray) -> Tensor:
        """Return (N, N) bool: which are one text."""
        return self.tensor(texts_N[:, None] == texts_N[None, :])

    def _views(self, rows: Tensor, batch: Batch) -> Views:
        """Return the unit vectors of both passes of utterances and of templates."""
        headed = self.head(rows, torch.ones(len(rows), dtype=torch.int64))
        sequences = batch.extra
        return Views(
            utterance=self._unit(headed, batch, sequences.utterance),
            utterance_again=self._unit(headed, batch, sequences.utterance_again),
            template=self._unit(headed, batch, sequences.template, self.align),
            template_again=self._unit(headed, batch, sequences.template_again, self.align),
        )

    def _unit(
        self, headed: Tensor, batch: Batch, side: np.ndarray, layer: nn.Module | None = None
    ) -> Tensor:
        """Return (N, D) unit vectors of the sequences of a side, through a layer if it has one."""
        vectors = headed[self.tensor(batch.place[side])]
        return nn.functional.normalize(layer(vectors) if layer else vectors, dim=1)

    def save(self, directory: Path) -> None:
        """Keep the alignment layer: compression applies it to templates."""
        if self.align is not None:
            save_alignment(self.align, directory)
        if self.setting.options.keep_head:
            save_heads(heads.kept(self.head), directory)


def _add_distinct(
    sequences: list[np.ndarray], texts_N: np.ndarray, setting: Setting[TemplateOptions]
) -> np.ndarray:
    """Append the tokens of each distinct text; return (N,) where those of each text stand."""
    distinct, place = np.unique(texts_N, return_inverse=True)
    start = len(sequences)
    sequences.extend(setting.texts(distinct))
    return start + place

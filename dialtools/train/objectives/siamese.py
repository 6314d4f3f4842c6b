"""Siamese baselines of DialogueCSE: a head scores a context with each candidate."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.randomness import seeded
from dialtools.train import health
from dialtools.train.data.collate import contexts
from dialtools.train.losses import matching
from dialtools.train.objectives.base import Batch, Figures, Objective, Setting
from dialtools.train.objectives.catalog import SiameseOptions
from dialtools.train.objectives.negatives import Negatives, places_of


class Siamese(Objective[SiameseOptions]):
    """One encoder for both sides; the newest turns of the context, one or several, are one text."""

    def __init__(self, setting: Setting[SiameseOptions]) -> None:
        super().__init__(setting)
        d = setting.encoder.dimension
        self.negatives = Negatives.of(setting)
        self.least = self.negatives.least
        with seeded(setting.seed):
            self.score = nn.Sequential(
                nn.Linear(3 * d, d), nn.ReLU(), nn.Linear(d, 1), nn.Flatten(-2)
            )

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Each distinct candidate is encoded once; contexts are encoded apart from them."""
        s = self.setting
        sequences = contexts(s.store, pairs, s.joining, turns=s.options.context_turns)
        place: dict[int, int] = {}
        drawn = self.negatives.candidates(pairs, step)
        named = self.negatives.named(pairs)
        for utterance in (*drawn.ravel().tolist(), *named.tolist()):
            place.setdefault(utterance, len(sequences) + len(place))
        sequences += s.texts(place)
        return self.batches(sequences, pairs, (places_of(drawn, place), places_of(named, place)))

    def loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the mean cross entropy of the true responses."""
        context = rows[self.tensor(batch.place[: len(batch.pairs)])]
        candidates, named = batch.extra
        asked, truth, kin = self.negatives.asked(batch.pairs, candidates, named)
        response = rows[self.tensor(batch.place[asked])].expand(len(context), -1, -1)

        # SentenceBERT's classifier: both vectors, and how far apart they are in each dimension
        u = context[:, None].expand_as(response)
        scores = self.score(torch.cat([u, response, (u - response).abs()], -1))
        # Scores of a net have a scale of their own, so that there is no temperature.
        losses, first = matching.pick_response(
            scores,
            self.tensor(truth),
            temperature=1.0,
            excluded=None if kin is None else self.tensor(kin),
        )

        true = rows[self.tensor(batch.place[np.unique(candidates[:, 0])])]
        figures.update(
            uniformity=health.uniformity(nn.functional.normalize(true, dim=1)),
            accuracy=100 * first.float().mean(),
        )
        return losses.mean()

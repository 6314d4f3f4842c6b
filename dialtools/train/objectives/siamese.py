"""Siamese baselines of DialogueCSE: a head scores context and response, softmax over candidates (METHODS 7)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.randomness import seeded
from dialtools.encoder.tokens import assemble
from dialtools.train import health
from dialtools.train.losses import matching
from dialtools.train.objectives.base import Batch, Objective, Setting
from dialtools.train.objectives.negatives import Negatives, of_batch


class Siamese(Objective):
    """One encoder for both sides; the newest turns of the context are one sequence: one turn in S, several in M."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        options, d = setting.options, setting.encoder.dimension
        self.all = options.negatives == 0
        self.negatives = Negatives(
            setting.store, setting.pairs, count=options.negatives or 0, seed=options.seed
        )
        with seeded(options.seed):
            self.score = nn.Sequential(
                nn.Linear(3 * d, d), nn.ReLU(), nn.Linear(d, 1), nn.Flatten(-2)
            )

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Each distinct candidate is encoded once; contexts are encoded apart from them."""
        s, sequences = self.setting, []
        for pair in pairs:
            turns = s.store.turns[s.store.context(int(pair))][-(s.options.context_turns or 1) :]
            sequences.append(
                assemble(
                    [s.store.utterance(int(u)) for u in turns],
                    s.special,
                    max_length=s.lengths.context,
                    newest=True,
                )[0]
            )
        place: dict[int, int] = {}
        true = s.store.response[pairs].astype(np.int64)[:, None]
        drawn = true if self.all else np.concatenate([true, self.negatives.draw(pairs, step)], 1)
        for utterance in drawn.ravel().tolist():
            if utterance not in place:
                place[utterance] = len(sequences)
                sequences.append(
                    assemble(
                        [s.store.utterance(utterance)],
                        s.special,
                        max_length=s.lengths.response,
                        newest=False,
                    )[0]
                )
        candidates = np.asarray([[place[int(u)] for u in row] for row in drawn])
        return self.batches(sequences, pairs, candidates)

    def loss(self, rows: Tensor, batch: Batch, figures: dict[str, float]) -> Tensor:
        """Return the mean cross entropy of the true responses."""
        context = rows[self.tensor(batch.place[: len(batch.pairs)])]
        candidates = batch.about
        excluded = None
        if self.all:
            distinct, truth, kin = of_batch(
                candidates[:, 0], self.setting.store.dialogue[batch.pairs]
            )
            response = rows[self.tensor(batch.place[distinct])].expand(len(context), -1, -1)
            excluded = self.tensor(kin)
        else:
            truth = np.zeros(len(candidates), np.int64)
            response = rows[self.tensor(batch.place[candidates])]
        u = context[:, None].expand_as(response)
        scores = self.score(torch.cat([u, response, (u - response).abs()], -1))
        losses = matching.contrast(scores, self.tensor(truth), temperature=1.0, excluded=excluded)
        unit = nn.functional.normalize(
            rows[self.tensor(batch.place[np.unique(candidates[:, 0])])], dim=1
        )
        figures.update(
            uniformity=health.uniformity(unit),
            accuracy=100 * float((scores.argmax(1) == self.tensor(truth)).float().mean()),
        )
        return losses.mean()

"""DialogueCSE: a response and its candidates, each matched against the tokens of the context's turns (METHODS 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.randomness import seeded
from dialtools.encoder.tokens import assemble
from dialtools.train import health
from dialtools.train.losses import matching
from dialtools.train.objectives.base import Batch, Objective, Part, Setting
from dialtools.train.objectives.negatives import Negatives, of_batch


class Roles(NamedTuple):
    """The sequences that are a pair's turns (N, C), -1 where it has fewer, and its candidates (N, K), the true first."""

    turns: np.ndarray
    candidates: np.ndarray


class Matching(Objective):
    """Tells the true response from others by how well each survives being seen through the same context."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        options, dimension = setting.options, setting.encoder.dimension
        self.all = options.negatives == 0
        self.negatives = Negatives(
            setting.store, setting.pairs, count=options.negatives or 0, seed=options.seed
        )
        self.weigh: nn.Module | None = None
        if options.aggregation == "attention":  # I1: two layers, ReLU (METHODS 11, 20)
            with seeded(options.seed):
                self.weigh = nn.Sequential(
                    nn.Linear(dimension, dimension // 2),
                    nn.ReLU(),
                    nn.Linear(dimension // 2, 1),
                    nn.Flatten(-2),
                )

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Every distinct utterance of the batch is encoded once, by itself."""
        s = self.setting
        place: dict[int, int] = {}
        sequences: list[np.ndarray] = []

        def of(utterance: int) -> int:
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
            return place[utterance]

        count = s.options.context_turns or 1
        turns = np.full((len(pairs), count), -1, np.int64)
        for row, pair in enumerate(pairs):
            near = nearest_turns(
                s.store.turns[s.store.context(int(pair))],
                s.store.follow[s.store.after(int(pair))],
                count,
            )
            turns[row, : len(near)] = [of(int(u)) for u in near]
        true = s.store.response[pairs].astype(np.int64)[:, None]
        drawn = true if self.all else np.concatenate([true, self.negatives.draw(pairs, step)], 1)
        candidates = np.asarray([[of(int(u)) for u in row] for row in drawn])
        return self.batches(sequences, pairs, Roles(turns, candidates))

    def encode(self, part: Part) -> Tensor:
        """Return the vectors of all real tokens, one text after the other; what is padding never leaves the encoder."""
        return self.setting.encoder.tokens(part[0], part[1])[part[1].bool()]

    def loss(self, rows: Tensor, batch: Batch, figures: dict[str, float]) -> Tensor:
        """Return the mean loss of a batch."""
        return self._loss(Tokens(rows.float(), batch), batch, figures)

    def _loss(self, tokens: Tokens, batch: Batch, figures: dict[str, float]) -> Tensor:
        options, store, (turns, candidates) = self.setting.options, self.setting.store, batch.about
        sums, sizes = tokens.sums(turns), self.tensor(np.where(turns < 0, 0, batch.sizes[turns]))
        excluded = None
        if self.all:
            distinct, truth, kin = of_batch(candidates[:, 0], store.dialogue[batch.pairs])
            similarity = matching.similarities(sums, sizes, tokens.padded(distinct), self.weigh)
            excluded = self.tensor(kin)
        else:
            truth = np.zeros(len(candidates), np.int64)
            similarity = matching.own_similarities(
                sums, sizes, tokens.padded(candidates), self.weigh
            )
        losses = matching.contrast(
            similarity,
            self.tensor(truth),
            temperature=options.temperature or 1.0,
            excluded=excluded,
        )
        unit = nn.functional.normalize(tokens.sums(candidates[:, 0]), dim=1)
        figures.update(
            uniformity=health.uniformity(unit),
            accuracy=100 * float((similarity.argmax(1) == self.tensor(truth)).float().mean()),
        )
        return losses.mean()


class Tokens:
    """The token vectors of a batch, by sequence of its plan."""

    def __init__(self, rows: Tensor, batch: Batch) -> None:
        sizes = batch.sizes[np.argsort(batch.place)]  # in the order of the parts
        self.sizes = batch.sizes
        self.starts = (np.cumsum(sizes) - sizes)[batch.place]
        self.rows = torch.cat([rows, rows.new_zeros(1, rows.shape[1])])

    def padded(self, sequences: np.ndarray) -> Tensor:
        """Return (..., T, D) the tokens of sequences, zeros after their end; -1 is an empty one."""
        sizes = np.where(sequences < 0, 0, self.sizes[sequences])
        at = np.arange(max(1, int(sizes.max(initial=1))))
        index = np.where(
            at < sizes[..., None], self.starts[sequences][..., None] + at, len(self.rows) - 1
        )
        return self.rows[torch.from_numpy(index).to(self.rows.device)]

    def sums(self, sequences: np.ndarray) -> Tensor:
        """Return (..., D) the sum of the tokens of each sequence."""
        return self.padded(sequences).sum(-2)


def nearest_turns(before: np.ndarray, after: np.ndarray, count: int) -> list[int]:
    """Return up to `count` turns around a response, outward from it: previous, next, the one before, ... (METHODS 11)."""
    back, ahead = before[::-1].tolist(), after.tolist()
    outward = [
        turn
        for i in range(max(len(back), len(ahead)))
        for side in (back, ahead)
        for turn in side[i : i + 1]
    ]
    return outward[:count]

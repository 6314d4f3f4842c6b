"""DialogueCSE: candidates matched against the tokens of the context's turns (4.1-4.4)."""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.batches import where
from dialtools.encoder.device import moved
from dialtools.encoder.randomness import seeded
from dialtools.encoder.token_weights import scaled
from dialtools.ranges import starts_of
from dialtools.train import health
from dialtools.train.losses import matching
from dialtools.train.objectives.base import Batch, Figures, Objective, Part, Setting
from dialtools.train.objectives.catalog import MatchingOptions
from dialtools.train.objectives.negatives import Negatives, places_of


class Roles(NamedTuple):
    """Which sequences the loss of a batch looks at.

    Attributes:
        turns: (N, C) of each context, -1 where it has fewer.
        candidates: (N, K) of each response, the true one first.
        named: (M,) of negatives that stand beside the responses of the batch.
    """

    turns: np.ndarray
    candidates: np.ndarray
    named: np.ndarray


class Matching(Objective[MatchingOptions]):
    """Tells the true response from others: it survives best being seen through the context."""

    def __init__(self, setting: Setting[MatchingOptions]) -> None:
        super().__init__(setting)
        self.negatives = Negatives.of(setting)
        self.least = self.negatives.least
        self.weigh: nn.Module | None = None
        if setting.options.aggregation == "attention":
            with seeded(setting.seed):
                self.weigh = attention(setting.encoder.dimension)

    def note(self) -> str:
        """Tell of a pooling of which nothing is learnt."""
        pooling = self.setting.encoder.pooling
        if pooling == "mean":
            return ""
        return f"--pooling {pooling}: matching learns with means of tokens all the same"

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Every distinct utterance of the batch is encoded once, by itself."""
        s = self.setting
        place: dict[int, int] = {}
        count = s.options.context_turns
        turns = np.full((len(pairs), count), -1, np.int64)
        for row, pair in enumerate(pairs):
            before = s.store.turns[s.store.context(int(pair))]
            after = s.store.follow[s.store.after(int(pair))]
            near = nearest_turns(before, after, count)
            turns[row, : len(near)] = [place.setdefault(turn, len(place)) for turn in near]

        drawn = self.negatives.candidates(pairs, step)
        named = self.negatives.named(pairs)
        for utterance in (*drawn.ravel().tolist(), *named.tolist()):
            place.setdefault(utterance, len(place))
        sequences = s.texts(place)
        roles = Roles(turns, places_of(drawn, place), places_of(named, place))
        return self.batches(sequences, pairs, roles)

    def encode(self, part: Part) -> Tensor:
        """Return the vectors of all real tokens, one text after the other, padding left out.

        The plain mean of a text's is its vector, whatever its tokens weigh.
        """
        ids, mask = part
        encoder = self.setting.encoder
        tokens = encoder.tokens(ids, mask)
        if encoder.token_weights is not None:
            tokens = scaled(tokens, encoder.weights_of(ids, mask))
        return where(tokens, mask)

    def loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the mean loss of a batch."""
        return self.loss_of_tokens(Tokens(rows, batch), batch, figures)

    def loss_of_tokens(self, tokens: Tokens, batch: Batch, figures: Figures) -> Tensor:
        """Return the mean loss of a batch from its token vectors, in their precision."""
        turns, candidates, named = batch.extra
        sums = tokens.sums(turns)
        sizes = self.tensor(np.where(turns < 0, 0, batch.sizes[turns]))
        asked, truth, kin = self.negatives.asked(batch.pairs, candidates, named)
        similarity = matching.similarities(sums, sizes, tokens.padded(asked), self.weigh)
        losses, first = matching.pick_response(
            similarity,
            self.tensor(truth),
            temperature=self.setting.options.temperature,
            excluded=None if kin is None else self.tensor(kin),
        )

        unit = nn.functional.normalize(tokens.sums(candidates[:, 0]), dim=1)
        figures.update(
            uniformity=health.uniformity(unit),
            accuracy=100 * first.float().mean(),
        )
        return losses.mean()


def attention(dimension: int) -> nn.Module:
    """I1: two layers with a ReLU give each turn a score."""
    return nn.Sequential(
        nn.Linear(dimension, dimension // 2),
        nn.ReLU(),
        nn.Linear(dimension // 2, 1),
        nn.Flatten(-2),
    )


class Tokens:
    """The token vectors of a batch, by sequence of its plan."""

    def __init__(self, rows: Tensor, batch: Batch) -> None:
        sizes = batch.sizes[np.argsort(batch.place)]  # in the order of the parts
        self.sizes = batch.sizes
        self.starts = starts_of(sizes)[batch.place]
        self.rows = torch.cat([rows, rows.new_zeros(1, rows.shape[1])])

    def padded(self, sequences: np.ndarray) -> Tensor:
        """Return (..., T, D) the tokens of sequences, zeros after their end; -1 is an empty one."""
        sizes = np.where(sequences < 0, 0, self.sizes[sequences])
        at = np.arange(max(1, int(sizes.max(initial=1))))
        zeros = len(self.rows) - 1
        index = np.where(at < sizes[..., None], self.starts[sequences][..., None] + at, zeros)
        return self.rows[moved(torch.from_numpy(index), self.rows.device)]

    def sums(self, sequences: np.ndarray) -> Tensor:
        """Return (..., D) the sum of the tokens of each sequence."""
        return self.padded(sequences).sum(-2)


def nearest_turns(before: np.ndarray, after: np.ndarray, count: int) -> list[int]:
    """Return up to `count` turns around a response, outward from it.

    Previous, next, the one before the previous, ...
    """
    outward = zip_longest(before[::-1].tolist(), after.tolist())
    turns = [turn for both in outward for turn in both if turn is not None]
    return turns[:count]

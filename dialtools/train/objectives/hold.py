"""Texts stay where the start has them, while something else is learnt: the start is the teacher."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dialtools.encoder.encode import encode
from dialtools.encoder.encoder import Encoder
from dialtools.metrics.space import unit
from dialtools.train.data.collate import alone, utterances
from dialtools.train.objectives.base import Setting
from dialtools.train.objectives.catalog import DistillOptions
from dialtools.train.objectives.distill import Distill

LEAST = 1024
"""Texts that say what all texts of a log share."""
MOST = 1 << 14
"""Texts that the start embeds: more of them take long, and say little more."""


class Held:
    """Lessons of the start: distinct utterances of the pairs, and the vectors that it has for them.

    Args:
        setting: of what learns from the pairs.
        start: whose vectors they are: the encoder itself, or the one that it was made of.
        count: of the utterances, about; of more of them every second, third, ...
    """

    def __init__(self, setting: Setting[Any], start: Encoder, *, count: int) -> None:
        every = utterances(setting.store, setting.pairs)
        self.utterances = every[:: -(-len(every) // count)]
        self.store, self.joining = setting.store, setting.joining
        # a start that a table was made of has places for so many tokens
        lengths = replace(setting.lengths, response=min(setting.lengths.response, start.positions))
        as_start = self.joining._replace(special=start.special, lengths=lengths)
        vectors_TE = encode(
            start,
            alone(self.store, self.utterances, as_start),
            batch_tokens=setting.max_tokens,
            precision=setting.precision,
        )
        self.vectors_TE = unit(vectors_TE).astype(np.float16)

    def __len__(self) -> int:
        return len(self.utterances)

    def texts(self, which: np.ndarray) -> list[np.ndarray]:
        return alone(self.store, self.utterances[which], self.joining)

    def vectors(self, which: np.ndarray) -> np.ndarray:
        return self.vectors_TE[which]


def hold(setting: Setting[Any], start: Encoder, *, reads: int) -> Distill:
    """Return what keeps texts of the pairs where the start has them.

    Args:
        reads: texts that all steps together read.
    """
    held = Held(setting, start, count=min(max(reads, LEAST), MOST))
    numbers = np.arange(len(held))
    return Distill(replace(setting, pairs=numbers, options=DistillOptions()), held)

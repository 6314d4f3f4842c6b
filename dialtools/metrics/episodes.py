"""Few-shot episodes: which training rows a run may see."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np


class Episode(NamedTuple):
    """Row indices of one run: k a class to train on, k a class to validate on."""

    seed: int
    train: np.ndarray
    val: np.ndarray


def sample(labels: Sequence[Hashable], shots: int, *, seed: int) -> Episode:
    """Draw an episode, bit for bit as DSE's sampler does (METHODS 3.1).

    Labels are visited in order of first appearance; 2k rows of each are drawn, the first half to train, the rest to
    validate; a class with one row gives it to training.
    """
    by_label: dict[Hashable, list[int]] = {}
    for row, label in enumerate(labels):
        by_label.setdefault(label, []).append(row)
    draw = random.Random(seed)
    train: list[int] = []
    val: list[int] = []
    for rows in by_label.values():
        drawn = draw.sample(rows, min(2 * shots, len(rows)))
        half = (len(drawn) + 1) // 2
        train += drawn[:half]
        val += drawn[half:]
    return Episode(seed, np.asarray(train, np.int64), np.asarray(val, np.int64))

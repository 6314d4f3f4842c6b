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
    """Draw an episode of rows with one label each; see `sample_sets`."""
    return sample_sets([(label,) for label in labels], shots, seed=seed)


def sample_sets(labels: Sequence[Sequence[Hashable]], shots: int, *, seed: int) -> Episode:
    """Draw an episode, bit for bit as DSE's sampler does.

    Labels are visited in order of first appearance; 2k rows of each are drawn, the first half to
    train, the rest to validate; a class with one row gives it to training. Of rows with several
    labels, those that an earlier label has drawn are left out before a label's rows are halved.
    """
    by_label: dict[Hashable, list[int]] = {}
    for row, row_labels in enumerate(labels):
        for label in row_labels:
            by_label.setdefault(label, []).append(row)
    draw = random.Random(seed)
    taken: set[int] = set()
    train: list[int] = []
    val: list[int] = []
    for rows in by_label.values():
        drawn = [row for row in draw.sample(rows, min(2 * shots, len(rows))) if row not in taken]
        taken.update(drawn)
        half = (len(drawn) + 1) // 2
        train += drawn[:half]
        val += drawn[half:]
    return Episode(seed, np.asarray(train, np.int64), np.asarray(val, np.int64))

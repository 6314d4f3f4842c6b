"""F1 of label sets. N rows, A labels.

A label that is neither true nor guessed scores 0 (scikit-learn's zero_division=0).

Counts are (..., 3, A): true positives, false positives, false negatives of each label, of one row
or summed over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np


def indicators(acts: Sequence[Collection[str]], names: Sequence[str]) -> np.ndarray:
    """Return (N, A) ones where a row has an act; acts that are not among the names are left out."""
    place = {name: i for i, name in enumerate(names)}
    table_NA = np.zeros((len(acts), len(names)), np.int64)
    for row, row_acts in enumerate(acts):
        table_NA[row, [place[name] for name in row_acts if name in place]] = 1
    return table_NA


def counts(truth_NA: np.ndarray, guess_NA: np.ndarray) -> np.ndarray:
    """Return (N, 3, A) the counts of each row."""
    truth, guess = truth_NA.astype(bool), guess_NA.astype(bool)
    return np.stack([truth & guess, ~truth & guess, truth & ~guess], 1).astype(np.float32)


def f1(counts_3: np.ndarray) -> np.ndarray:
    """Return 2 tp / (2 tp + fp + fn) over the second last axis, 0 where all three are 0."""
    hits, false, missed = np.moveaxis(counts_3, -2, 0)
    return 2 * hits / np.maximum(2 * hits + false + missed, 1)


def micro(sums_3A: np.ndarray) -> np.ndarray:
    """Return F1 of all labels thrown together; the mean of rows' own is the `samples` average."""
    return f1(sums_3A.sum(-1, keepdims=True))[..., 0]


def macro(sums_3A: np.ndarray) -> np.ndarray:
    """Return the mean F1 of all labels, the absent ones too."""
    return f1(sums_3A).mean(-1)


def macro_of(whole_3A: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the macro average as resamples of a sample have it.

    A rare label that a resample does not draw has no F1 there; 0 would pull its mean below that of
    the sample. So the mean is over those that it draws, times the share of labels that the sample
    itself has: of the sample it is `macro`.

    Args:
        whole_3A: the counts of the sample.
    """
    there = float((whole_3A.sum(-2) > 0).mean())

    def average(sums_3A: np.ndarray) -> np.ndarray:
        drawn = (sums_3A.sum(-2) > 0).sum(-1)
        return there * f1(sums_3A).sum(-1) / np.maximum(drawn, 1)

    return average


def weighted(sums_3A: np.ndarray) -> np.ndarray:
    """Return the mean F1 of the labels, each as often as it is true."""
    support = sums_3A[..., 0, :] + sums_3A[..., 2, :]
    return (f1(sums_3A) * support).sum(-1) / np.maximum(support.sum(-1), 1)


AVERAGES = {"micro": micro, "macro": macro, "weighted": weighted}

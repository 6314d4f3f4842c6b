"""How well scores tell positives from negatives: areas under curves, false alarms at a recall.

N items, of which P have a score that some positive has, R rankings, B resamples. All of it is a
function of how often each item counts, and all of it depends on the items together: a resample is
ranked anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from dialtools.metrics.counts import quotient

RECALL = 0.95


class Curve(NamedTuple):
    """What is found at each of P falling thresholds: the scores of positives.

    Attributes:
        found, alarms: (P, B) the positives and negatives that score no lower.
        here: (P, B) the positives of that very score.
        tied: (P, B) the negatives of that very score.
        positives, negatives: (B,) all of them.
    """

    found: np.ndarray
    alarms: np.ndarray
    here: np.ndarray
    tied: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray


def roc_area(curve: Curve) -> np.ndarray:
    """Return (B,) the share of pairs in which the positive scores higher; ties count half."""
    above_PB = curve.alarms - curve.tied / 2
    pairs = curve.positives * curve.negatives
    return 1 - quotient(np.einsum("pb,pb->b", curve.here, above_PB), pairs)


def area_under_precision(curve: Curve) -> np.ndarray:
    """Return (B,) the mean precision at the scores of the positives, as scikit-learn has it."""
    precision_PB = quotient(curve.found, curve.found + curve.alarms)
    return quotient(np.nansum(curve.here * precision_PB, axis=0), curve.positives)


def false_alarms(curve: Curve, recall: float = RECALL) -> np.ndarray:
    """Return (B,) the share of negatives at or above the highest score that finds `recall`."""
    if not len(curve.found):
        return np.full(len(curve.positives), np.nan)
    enough_PB = curve.found >= np.ceil(recall * curve.positives - 1e-9)
    first_B = enough_PB.argmax(0)
    alarms_B = curve.alarms[first_B, np.arange(len(first_B))]
    return np.where(curve.positives > 0, quotient(alarms_B, curve.negatives), np.nan)


MEASURES: dict[str, Callable[[Curve], np.ndarray]] = {
    "auroc": roc_area,
    "aupr": area_under_precision,
    "fpr-at-95-recall": false_alarms,
}


class Detection:
    """A measure of R rankings of the same items, averaged over them.

    Args:
        measure: a name of MEASURES.
        ranks_RN: from 0, what is most likely positive, on; equal scores have equal ranks.
        positive_N: which items are to be found.

    Attributes:
        rarer: how many items there are of the kind of which there are fewer.
    """

    values = None
    least = 0.0

    def __init__(
        self, measure: str, ranks_RN: Sequence[np.ndarray], positive_N: np.ndarray
    ) -> None:
        self.measure = MEASURES[measure]
        self.rankings = [_Ranking(ranks_N, positive_N) for ranks_N in ranks_RN]
        self.positive_N = positive_N
        self.rarer = int(min(positive_N.sum(), (~positive_N).sum()))
        content = np.vstack([positive_N, *ranks_RN]).tobytes()
        self.key = blake2b(content, digest_size=16).digest()
        """Measures of equal keys have the same curves."""

    def __call__(self, weights_BN: np.ndarray) -> np.ndarray:
        """Return (B,) the statistic of each resample."""
        return measured([self], weights_BN)[0]

    def curves(self, weights_BN: np.ndarray) -> Iterator[Curve]:
        """Yield the curve of each ranking, over all resamples."""
        # whole rows move below; counts up to 2^24 are exact in float32, and half the bytes
        weights_NB = np.ascontiguousarray(weights_BN.T, np.float32)
        positives = weights_NB[self.positive_N].sum(0, dtype=np.float64)
        negatives = weights_NB[~self.positive_N].sum(0, dtype=np.float64)
        for ranking in self.rankings:
            yield Curve(*ranking.steps(weights_NB), positives, negatives)


def measured(alike: Sequence[Detection], weights_BN: np.ndarray) -> list[np.ndarray]:
    """Return (B,) each of several measures of the same rankings, a curve at a time."""
    values = [np.zeros(len(weights_BN)) for _ in alike]
    for curve in alike[0].curves(weights_BN):
        for detection, value_B in zip(alike, values, strict=True):
            value_B += detection.measure(curve)
    return [value_B / len(alike[0].rankings) for value_B in values]


class _Ranking:
    """Where the scores of positives stand in an order of the items.

    Attributes:
        order: (N,) items from the first on, without those behind the last positive.
        starts: (P,) where in the order the items begin that are added up at each threshold.
        positives, begins: the positives in order, and where those of each threshold begin.
        tied, places: the negatives that have a positive's score, and at which threshold.
    """

    def __init__(self, ranks_N: np.ndarray, positive_N: np.ndarray) -> None:
        ordered = np.argsort(ranks_N, kind="stable")
        levels = np.unique(ranks_N[positive_N])
        ends = np.searchsorted(ranks_N[ordered], levels, "right")
        self.order = ordered[: ends[-1]] if len(ends) else ordered[:0]
        self.starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)[: len(levels)]
        is_positive = positive_N[self.order]
        self.positives = self.order[is_positive]
        self.begins = np.searchsorted(ranks_N[self.positives], levels, "left")
        negatives = self.order[~is_positive]
        place = np.searchsorted(levels, ranks_N[negatives])
        is_tied = levels[place] == ranks_N[negatives]
        self.tied, self.places = negatives[is_tied], place[is_tied]

    def steps(
        self, weights_NB: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return found, alarms, here and tied of a Curve."""
        here_PB = np.add.reduceat(weights_NB[self.positives], self.begins, axis=0)
        seen_PB = np.add.reduceat(weights_NB[self.order], self.starts, axis=0)
        seen_PB = seen_PB.cumsum(0, dtype=np.float64)
        found_PB = here_PB.cumsum(0, dtype=np.float64)
        tied_PB = np.zeros_like(here_PB)
        np.add.at(tied_PB, self.places, weights_NB[self.tied])
        return found_PB, seen_PB - found_PB, here_PB, tied_PB


def dense_ranks(scores_N: np.ndarray) -> np.ndarray:
    """Return (N,) ranks from 0, the highest score, on; equal scores have equal ranks."""
    return np.unique(-scores_N, return_inverse=True)[1]

"""Slow transcriptions of the reference's evaluation, one query and one candidate at a time.

C classes, D dimensions, K support rows, N queries. Vectors are taken as they come; callers pass
unit vectors.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np


def few_shot(labels: Sequence[object], shots: int, seed: int) -> tuple[list[int], list[int]]:
    """Return train and validation rows of an episode as the reference draws them (`data.py`).

    A row has one label, or a list of several; what an earlier label has drawn is no row of a later.
    """
    groups: dict[object, list[int]] = {}
    for row, own in enumerate(labels):
        for label in own if isinstance(own, list) else [own]:
            groups.setdefault(label, []).append(row)
    generator = random.Random(seed)
    train, validation = [], []
    for rows in groups.values():
        drawn = generator.sample(rows, min(2 * shots, len(rows)))
        drawn = [row for row in drawn if row not in train + validation]
        half = math.ceil(len(drawn) / 2)
        train += drawn[:half]
        validation += drawn[half:]
    return train, validation


def prototypes(
    support_KD: np.ndarray, labels: Sequence[object], classes: Sequence[object]
) -> np.ndarray:
    """Return (C, D) the mean of each class's vectors, not made unit again."""
    rows = [
        [v for v, label in zip(support_KD, labels, strict=True) if label == one] for one in classes
    ]
    return np.stack([sum(r) / len(r) for r in rows])


def four_metrics(
    predicted: Sequence[object], truth: Sequence[object], oos: object
) -> dict[str, float]:
    """Return the four out-of-scope metrics of DSE, in percent."""
    pairs = list(zip(predicted, truth, strict=True))
    inside = [(p, t) for p, t in pairs if t != oos]
    outside = [(p, t) for p, t in pairs if t == oos]
    return {
        "accuracy": 100 * sum(p == t for p, t in pairs) / len(pairs),
        "in-accuracy": 100 * sum(p == t for p, t in inside) / len(inside),
        "oos-accuracy": 100 * sum((p == oos) == (t == oos) for p, t in pairs) / len(pairs),
        "oos-recall": 100 * sum(p == oos for p, _ in outside) / len(outside),
    }


def out_of_scope(
    scores_NC: np.ndarray,
    classes: Sequence[object],
    oos: object,
    *,
    deviations: float,
    normalise: bool,
) -> list[object]:
    """Return the best class of each query if its score is above the threshold, else `oos`."""
    rows = [row / math.sqrt(sum(x * x for x in row)) if normalise else row for row in scores_NC]
    best = [max(row) for row in rows]
    mean = sum(best) / len(best)
    spread = math.sqrt(sum((b - mean) ** 2 for b in best) / len(best))
    threshold = mean + deviations * spread
    return [
        classes[int(np.argmax(row))] if b > threshold else oos
        for row, b in zip(rows, best, strict=True)
    ]


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the share of (positive, negative) pairs in the right order; ties count half."""
    pairs = list(itertools.product(positive, negative))
    return sum(1.0 if p > n else 0.5 if p == n else 0.0 for p, n in pairs) / len(pairs)


def false_positive_rate(
    positive: Sequence[float], negative: Sequence[float], recall: float = 0.95
) -> float:
    """Return the least share of negatives above a threshold with `recall` of the positives."""
    rates = []
    for threshold in {*positive, *negative}:
        if sum(p >= threshold for p in positive) >= recall * len(positive):
            rates.append(sum(n >= threshold for n in negative) / len(negative))
    return min(rates)


def truth_first(scores: Sequence[float], truth: int, k: int) -> tuple[float, float]:
    """Return chance of a hit at k and expected 1/rank, over all orders of falling scores."""
    hits, reciprocals, orders = 0, 0.0, 0
    for order in itertools.permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            rank = order.index(truth) + 1
            hits, reciprocals, orders = hits + (rank <= k), reciprocals + 1 / rank, orders + 1
    return hits / orders, reciprocals / orders

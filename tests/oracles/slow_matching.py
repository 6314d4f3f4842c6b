"""DialogueCSE (4.1-4.4), loop by loop in float64, with matrices and padding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np


def refined(turn: np.ndarray, response: np.ndarray, rows: int) -> np.ndarray:
    """Return (rows, d): M R with M = U Rᵀ/√d.

    Rows are tokens of the turn; those beyond it are padding and stay 0.
    """
    d = turn.shape[1]
    out = np.zeros((rows, d))
    for a in range(len(turn)):
        for b in range(len(response)):
            match = sum(turn[a, k] * response[b, k] for k in range(d)) / math.sqrt(d)
            for k in range(d):
                out[a, k] += match * response[b, k]
    return out


def similarity(
    turns: Sequence[np.ndarray], response: np.ndarray, weigh: Callable[[np.ndarray], float] | None
) -> float:
    """Return the cosine of the pooled response and the pooled, refined one.

    Turns are averaged (I2), or weighed (I1).
    """
    rows = max(len(turn) for turn in turns)
    each = [refined(turn, response, rows) for turn in turns]
    if weigh is None:
        shares = [1 / len(turns)] * len(turns)
    else:
        scores = [
            math.exp(weigh(one[: len(turn)].mean(0))) for one, turn in zip(each, turns, strict=True)
        ]
        shares = [score / sum(scores) for score in scores]
    together = sum(share * one for share, one in zip(shares, each, strict=True)).sum(0)
    own = response.mean(0)
    return float(own @ together / np.linalg.norm(own) / np.linalg.norm(together))


def loss(
    contexts: Sequence[Sequence[np.ndarray]],
    candidates: Sequence[Sequence[np.ndarray]],
    temperature: float,
    weigh: Callable[[np.ndarray], float] | None = None,
) -> float:
    """Return the mean of -log softmax of each context's first candidate."""
    total = 0.0
    for turns, responses in zip(contexts, candidates, strict=True):
        logits = [similarity(turns, response, weigh) / temperature for response in responses]
        total += math.log(sum(math.exp(x) for x in logits)) - logits[0]
    return total / len(contexts)

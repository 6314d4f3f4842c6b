"""TaDSE (eq. 1-4), term by term, number by number."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(sum(a * b) / sqrt(sum(a * a) * sum(b * b)))


def picks(
    anchor: np.ndarray, others: np.ndarray, i: int, temperature: float, left_out: set[int]
) -> float:
    """-log e^{sim(a_i, o_i)/tau} / sum_j e^{sim(a_i, o_j)/tau}"""
    below = sum(
        exp(cosine(anchor[i], others[j]) / temperature)
        for j in range(len(others))
        if j == i or j not in left_out
    )
    return -log(exp(cosine(anchor[i], others[i]) / temperature) / below)


def losses(
    u: np.ndarray,
    again: np.ndarray,
    t: np.ndarray,
    t_again: np.ndarray,
    *,
    taus: tuple,
    lambdas: tuple,
    negatives: str,
    texts: tuple[str, ...] | None = None,
) -> list[float]:
    """The loss of each row.

    Rows of one utterance (the first of `texts`) are no negatives of each other in L^u, those of one
    template (the second) in L^t, and neither in L^pair.
    """
    found = []
    for i in range(len(u)):
        alike, kin = (
            {j for j in range(len(u)) if side and side[j] == side[i]} for side in texts or ((), ())
        )
        own = lambdas[0] * picks(u, again, i, taus[0], alike)
        cut = lambdas[1] * picks(t, t_again, i, taus[1], kin)
        kin |= alike
        there, back = picks(t, u, i, taus[2], kin), picks(u, t, i, taus[2], kin)
        pair = {"utterances": there, "templates": back, "both": (there + back) / 2}[negatives]
        found.append(own + cut + lambdas[2] * pair)
    return found

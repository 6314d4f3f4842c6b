"""Tests and corrections from their definitions, one resample and one hypothesis at a time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence


def exact_permutation(differences: Sequence[float]) -> float:
    """Return the share of sign patterns whose sum is as far from zero as the differences' own."""
    observed = abs(sum(differences))
    patterns = list(itertools.product((1, -1), repeat=len(differences)))
    far = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed - 1e-9
        for signs in patterns
    ]
    return sum(far) / len(far)


def permutation(differences: Sequence[float], resamples: int, seed: int) -> float:
    """Return the p-value of random sign patterns, the observed one counted in."""
    draw, observed = random.Random(seed), abs(sum(differences))
    far = sum(
        abs(sum(draw.choice((1, -1)) * d for d in differences)) >= observed - 1e-9
        for _ in range(resamples)
    )
    return (1 + far) / (1 + resamples)


def bootstrap(
    statistic: Callable[[list[int]], float], n: int, resamples: int, seed: int
) -> list[float]:
    """Return a statistic of lists of rows drawn with replacement."""
    draw = random.Random(seed)
    return [statistic([draw.randrange(n) for _ in range(n)]) for _ in range(resamples)]


def holm_rejects(p: Sequence[float], level: float) -> list[bool]:
    """Step down: the smallest p against level/m, the next against level/(m-1), and so on."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    rejected = [False] * len(p)
    for step, i in enumerate(order):
        if p[i] > level / (len(p) - step):
            break
        rejected[i] = True
    return rejected


def benjamini_hochberg_rejects(p: Sequence[float], level: float) -> list[bool]:
    """Step up: all up to the largest k with p(k) no more than k level/m."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    last = max((k for k, i in enumerate(order, 1) if p[i] <= k * level / len(p)), default=0)
    return [i in order[:last] for i in range(len(p))]

"""Chance in training: a function of seed, step and purpose, so that a step can be made again."""

from __future__ import annotations

import numpy as np

FAR_APART = 0x9E3779B1  # odd, so that no two seeds below 2**32 meet before billions of steps


def mixed_seed(one: int, number: int) -> int:
    """Return another seed for each two numbers: 32 bits, as torch looks at no more on the CPU."""
    return (one * FAR_APART + number) % 2**32


def generator(seed: int, step: int, *, stream: int) -> np.random.Generator:
    """Return the generator of a step (or an epoch); streams of one step are independent.

    Args:
        seed: its lowest 64 bits count, each of them.
    """
    key = np.array([seed & (2**64 - 1), step], np.uint64)  # a list would go through float64
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, stream]))

"""Chance in training: a function of seed, step and purpose, so that a step can be made again."""

from __future__ import annotations

import numpy as np

LOW = 2**64 - 1
"""A mask of the 64 bits of a seed that count."""


def mixed_seed(one: int, number: int) -> int:
    """Return a seed of 32 bits made of two numbers; torch looks at no more bits on the CPU.

    Neighbouring numbers give seeds that have nothing in common, and so do mixed seeds mixed again.
    """
    return int(np.random.SeedSequence([one & LOW, number]).generate_state(1)[0])


def generator(seed: int, step: int, *, stream: int) -> np.random.Generator:
    """Return the generator of a step (or an epoch); streams of one step are independent."""
    key = np.array([seed & LOW, step], np.uint64)  # a list would go through float64
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, stream]))

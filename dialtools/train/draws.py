"""Chance in training: a function of seed, step and purpose, so that a step can be made again."""

from __future__ import annotations

import numpy as np

LOW = 2**64 - 1
"""The bits of a seed that count."""


def mixed_seed(one: int, number: int) -> int:
    """Return a seed of two numbers: 32 bits, as torch looks at no more on the CPU.

    Those of neighbours have nothing in common, nor those that are mixed of mixed ones.
    """
    return int(np.random.SeedSequence([one & LOW, number]).generate_state(1)[0])


def generator(seed: int, step: int, *, stream: int) -> np.random.Generator:
    """Return the generator of a step (or an epoch); streams of one step are independent."""
    key = np.array([seed & LOW, step], np.uint64)  # a list would go through float64
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, stream]))

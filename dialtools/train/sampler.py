"""Which pairs a step sees: a global reshuffle each epoch, a function of seed and step alone."""

from __future__ import annotations

import numpy as np


def epoch_order(n: int, *, seed: int, epoch: int) -> np.ndarray:
    """Return the (n,) order of an epoch."""
    return np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), epoch])).permutation(n)


def steps_per_epoch(n: int, batch_size: int) -> int:
    """Return the batches of an epoch; the last, incomplete one counts unless it is a single pair (no negatives)."""
    full, rest = divmod(n, batch_size)
    return max(1, full + (rest > 1))


class Sampler:
    """Batches of pair indices by step number."""

    def __init__(self, pairs: np.ndarray, *, batch_size: int, seed: int) -> None:
        self.pairs, self.batch_size, self.seed = pairs, min(batch_size, len(pairs)), seed
        self.per_epoch = steps_per_epoch(len(pairs), self.batch_size)
        self._epoch, self._order = -1, np.zeros(0, np.int64)

    def batch(self, step: int) -> np.ndarray:
        """Return the (N,) pairs of a step (0-based)."""
        epoch, within = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, epoch_order(len(self.pairs), seed=self.seed, epoch=epoch)
        return self.pairs[self._order[within * self.batch_size : (within + 1) * self.batch_size]]

"""Which pairs a step sees: a global reshuffle each epoch, a function of seed and step alone."""

from __future__ import annotations

import numpy as np

from dialtools.errors import DataError
from dialtools.train.draws import generator


def steps_per_epoch(n: int, batch_size: int, *, least: int = 2) -> int:
    """Return the batches of an epoch.

    Args:
        least: pairs that the last, incomplete one must have to count: a single pair has no
            negatives in its batch.
    """
    full, rest = divmod(n, batch_size)
    return max(1, full + (rest >= least))


class Sampler:
    """Batches of pair indices by step number.

    Args:
        least: pairs of a batch at least (1 or 2).
    """

    def __init__(
        self, pairs: np.ndarray, *, batch_size: int, seed: int, stream: int = 0, least: int = 2
    ) -> None:
        self.pairs = pairs
        self.batch_size = min(batch_size, len(pairs))
        self.seed = seed
        self.stream = stream
        self.per_epoch = steps_per_epoch(len(pairs), self.batch_size, least=least)
        self._epoch = -1
        self._order = np.zeros(0, np.int64)

    def batch(self, step: int) -> np.ndarray:
        """Return the (N,) pairs of a step (0-based)."""
        epoch, within = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch = epoch
            draw = generator(self.seed, epoch, stream=self.stream)
            self._order = draw.permutation(len(self.pairs))
        start = within * self.batch_size
        return self.pairs[self._order[start : start + self.batch_size]]


class Grouped:
    """Batches of one group each, groups in turn, in proportion to their batches.

    A pair that is alone in its group has no negatives, and is in no batch.

    Groups by window (WMDC 4.2.2): a head belongs to a window, so that logits between windows would
    compare different spaces. By kind: texts of one kind are no negatives of another's.

    Args:
        groups: (P,) integer of each pair's group.

    Raises:
        DataError: if every pair is alone.
    """

    def __init__(
        self, pairs: np.ndarray, groups: np.ndarray, *, batch_size: int, seed: int
    ) -> None:
        group_G, which_P, size_G = np.unique(groups, return_inverse=True, return_counts=True)
        if (size_G < 2).all():
            message = "each pair is the only one of its window or kind: no batch has two"
            raise DataError(message, hint="--batches mixed")
        self.pairs = pairs[size_G[which_P] > 1]
        self.samplers = [
            Sampler(pairs[groups == group], batch_size=batch_size, seed=seed, stream=int(group))
            for group in group_G[size_G > 1]
        ]
        counts = [sampler.per_epoch for sampler in self.samplers]
        who = np.repeat(np.arange(len(counts)), counts)
        nth = np.concatenate([np.arange(count) for count in counts])
        # The nth of `count` batches stands at (nth + 1/2) / count of the epoch.
        turn = np.lexsort((who, (nth + 0.5) / np.asarray(counts)[who]))
        self.turns = list(zip(who[turn].tolist(), nth[turn].tolist(), strict=True))
        self.per_epoch = len(self.turns)

    def batch(self, step: int) -> np.ndarray:
        """Return the (N,) pairs of a step (0-based)."""
        epoch, within = divmod(step, self.per_epoch)
        who, nth = self.turns[within]
        sampler = self.samplers[who]
        return sampler.batch(epoch * sampler.per_epoch + nth)

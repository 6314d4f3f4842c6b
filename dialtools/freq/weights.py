"""What a text of some frequency weighs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import e, log

import numpy as np

WEIGHTS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "irf": lambda frequency, base: 1 / (np.log(frequency) / log(base) + 1),
    "inverse": lambda frequency, _: 1 / frequency,
    "sqrt": lambda frequency, _: 1 / np.sqrt(frequency),
    "none": lambda frequency, _: np.ones_like(frequency),
}


@dataclass(frozen=True)
class Weighting:
    """How frequencies become weights: inverse response frequency, 1 / (log f + 1) (WMDC appendix A), or another."""

    kind: str = "irf"
    base: float = e
    smooth: float = 0.0
    scale: float = 1.0

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Return the weight of each count; a text that was never seen counts as seen once."""
        frequency = np.maximum(np.asarray(counts, np.float64), 1) + self.smooth
        return self.scale * WEIGHTS[self.kind](frequency, self.base)

    def with_mean_one(self, counts: np.ndarray, texts: np.ndarray) -> Weighting:
        """Return the weighting scaled so that the mean weight of an occurrence is 1.

        Args:
            counts: (K,) distinct counts.
            texts: (K,) how many texts have each.
        """
        if not len(counts):
            return self
        return replace(
            self, scale=self.scale / float(np.average(self(counts), weights=counts * texts))
        )

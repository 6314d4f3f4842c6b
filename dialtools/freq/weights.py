"""What a text of some frequency weighs.

Help reads the table of weights: numpy is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import e, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def inverse_log(frequency: np.ndarray, base: float) -> np.ndarray:
    """Return 1 / (log f + 1), the inverse response frequency (WMDC appendix A)."""
    import numpy as np

    return 1 / (np.log(frequency) / log(base) + 1)


WEIGHTS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "irf": inverse_log,
    "inverse": lambda frequency, _: 1 / frequency,
    "sqrt": lambda frequency, _: 1 / frequency**0.5,
    "none": lambda frequency, _: frequency**0,
}
"""The weight of each frequency; the base is that of the logarithm, if there is one."""


@dataclass(frozen=True)
class Weighting:
    """How frequencies become weights: inverse response frequency (WMDC appendix A), or another."""

    kind: str = "irf"
    base: float = e
    smooth: float = 0.0
    scale: float = 1.0

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Return the weight of each count; a text that was never seen counts as seen once."""
        import numpy as np

        frequency = np.maximum(np.asarray(counts, np.float64), 1) + self.smooth
        return self.scale * WEIGHTS[self.kind](frequency, self.base)

    def with_mean_one(self, counts: np.ndarray, texts: np.ndarray) -> Weighting:
        """Return the weighting scaled so that the mean weight of an occurrence is 1.

        Args:
            counts: (K,) distinct counts.
            texts: (K,) how many texts have each.
        """
        import numpy as np

        if not len(counts):
            return self
        mean = np.average(self(counts), weights=counts * texts)
        return replace(self, scale=self.scale / mean)

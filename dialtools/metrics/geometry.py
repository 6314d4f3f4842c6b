"""The shape of a space of unit vectors."""

from __future__ import annotations

import numpy as np


def unit(vectors_ND: np.ndarray) -> np.ndarray:
    """Scale rows to length 1; a zero row stays zero."""
    norms_N1 = np.linalg.norm(vectors_ND, axis=1, keepdims=True)
    return vectors_ND / np.where(norms_N1 > 0, norms_N1, 1)

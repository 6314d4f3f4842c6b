"""Rows whose class nobody has told, and that show where their class lies.

N rows, C classes, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dialtools.metrics.space import unit
from dialtools.ranges import sums_of

WORTH = 2
"""Examples for which the mean of a class's rows counts: it says most where there are few."""
ROUNDS = 3
"""After these, prototypes hardly move."""


def refined(
    prototypes_CD: np.ndarray, sizes_C: np.ndarray, blocks: Callable[[], Iterable[np.ndarray]]
) -> tuple[np.ndarray, int, int]:
    """Move the prototype of each class towards the unlabelled rows that are surely of it.

    A row is surely of its nearest class if it is nearer to that than any other class is: what is
    near to no class moves none. Ren et al. (2018, section 3.1) do so with soft assignments, in one
    round, and weigh each row as an example.

    Args:
        prototypes_CD: of the examples, of length 1.
        sizes_C: how many examples each class has.
        blocks: gives the rows, as (N, D) blocks, from the beginning each time.

    Returns:
        (C, D) prototypes of length 1; rows that were of a class, when they moved last; all rows.
    """
    told_CD, found, rows = prototypes_CD * sizes_C[:, None], 0, 0
    for _ in range(ROUNDS):
        sums_CD, found, rows = _found(prototypes_CD, blocks())
        prototypes_CD = unit((told_CD + WORTH * unit(sums_CD)).astype(np.float32))
    return prototypes_CD, found, rows


def _found(prototypes_CD: np.ndarray, blocks: Iterable[np.ndarray]) -> tuple[np.ndarray, int, int]:
    """Return (C, D) sums of the rows that are surely of each class, how many, and all rows."""
    least_C = _cosine_of_next_class(prototypes_CD)
    sums_CD, found, rows = np.zeros(prototypes_CD.shape), 0, 0
    for block_ND in blocks:
        rows += len(block_ND)
        unit_ND = unit(block_ND)
        cosine_NC = unit_ND @ prototypes_CD.T
        nearest_N = cosine_NC.argmax(1)
        sure_N = unit_ND.any(axis=1) & (cosine_NC.max(1) > least_C[nearest_N])
        sums_CD += sums_of(unit_ND[sure_N], nearest_N[sure_N], len(prototypes_CD))
        found += int(sure_N.sum())
    return sums_CD, found, rows


def _cosine_of_next_class(prototypes_CD: np.ndarray) -> np.ndarray:
    """Return (C,) how near the nearest other class is; of one class, nothing is nearer."""
    if len(prototypes_CD) == 1:
        return np.ones(1)
    cosine_CC = prototypes_CD @ prototypes_CD.T
    np.fill_diagonal(cosine_CC, -np.inf)
    return np.asarray(cosine_CC.max(1))

"""Whether the space is healthy, free of charge: alignment and uniformity of a batch.

Both are of Wang and Isola (2020), over unit vectors, as `dial-eval space` measures them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dialtools.metrics import space

MOST_ROWS = 512


@torch.no_grad()
def alignment(anchor_ND: Tensor, positive_ND: Tensor) -> float:
    """Return the mean squared distance of partners; lower is closer."""
    return space.pair_alignment(anchor_ND.float(), positive_ND.float())


@torch.no_grad()
def uniformity(vectors_ND: Tensor) -> float:
    """Return the uniformity of a batch; near 0 is collapse, and so is a single row.

    Of a large batch some rows, evenly spread, tell as much as all, whose pairs are millions.
    """
    vectors_ND = vectors_ND[:: 1 + len(vectors_ND) // MOST_ROWS]
    return space.uniformity(vectors_ND.float(), exp=torch.exp) if len(vectors_ND) > 1 else 0.0

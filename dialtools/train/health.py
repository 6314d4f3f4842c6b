"""Whether the space is healthy, free of charge: alignment and uniformity of a batch.

Both are of Wang and Isola (2020), over unit vectors: alignment of the batch's pairs, uniformity of
its vectors (`dial-eval space` takes pairs of one label). They stay where they are computed: a GPU
is not waited for.
"""

from __future__ import annotations

import torch
from torch import Tensor

MOST_ROWS = 512


@torch.no_grad()
def alignment(anchor_ND: Tensor, positive_ND: Tensor) -> Tensor:
    """Return the mean squared distance of partners; lower is closer."""
    return (anchor_ND.float() - positive_ND.float()).square().sum(1).mean()


@torch.no_grad()
def uniformity(vectors_ND: Tensor) -> Tensor:
    """Return the uniformity of a batch; near 0 is collapse, and so is a single row.

    Of a large batch some rows, evenly spread, tell as much as all, whose pairs are millions.
    """
    vectors_ND = vectors_ND[:: 1 + len(vectors_ND) // MOST_ROWS]
    if len(vectors_ND) < 2:
        return vectors_ND.new_zeros(())
    return torch.pdist(vectors_ND.float()).square().mul(-2).exp().mean().log()

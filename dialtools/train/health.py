"""Whether the space of a batch is healthy: its alignment and uniformity (Wang & Isola 2020).

The same figures as in `metrics.space`, of tensors where they are: a step on a GPU need not wait for
vectors to come to the CPU.
"""

from __future__ import annotations

import torch
from torch import Tensor


@torch.no_grad()
def alignment(anchor_ND: Tensor, positive_ND: Tensor) -> float:
    """Return the mean squared distance of partners; unit vectors; lower is closer."""
    return float((anchor_ND - positive_ND).float().pow(2).sum(1).mean())


@torch.no_grad()
def uniformity(vectors_ND: Tensor) -> float:
    """Return log mean exp(-2·squared distance) over pairs of unit vectors; near 0 is collapse."""
    n = len(vectors_ND)
    if n < 2:
        return 0.0
    squared = (2 - 2 * (vectors_ND.float() @ vectors_ND.float().T)).clamp(min=0)
    total = torch.exp(-2 * squared).sum() - n
    return float(torch.log((total / (n * (n - 1))).clamp(min=1e-30)))

"""What contrastive losses share: float32 whatever the autocast, masks with finite gradients.

N pairs; rows are the N anchors, then the N positives.
"""

from __future__ import annotations

import torch
from torch import Tensor

MASKED = -1e9  # finite: -inf in a row without negatives would make gradients NaN


def similarity(left: Tensor, right: Tensor, temperature: float) -> Tensor:
    """Return left·right/temperature in float32; exp of it never leaves log space."""
    with torch.autocast(left.device.type, enabled=False):
        return left.float() @ right.float().T / temperature


def cross_entropy_of_diagonal(logits_NN: Tensor, excluded_NN: Tensor | None) -> Tensor:
    """Return (N,) -log softmax of the diagonal, without the excluded negatives."""
    if excluded_NN is not None:
        diagonal = torch.eye(len(logits_NN), dtype=torch.bool, device=logits_NN.device)
        logits_NN = logits_NN.masked_fill(excluded_NN & ~diagonal, MASKED)
    return torch.logsumexp(logits_NN, 1) - logits_NN.diagonal()


def negatives(n: int, excluded: Tensor | None, device: torch.device) -> Tensor:
    """Return (2N, 2N) bool: all rows but oneself, one's partner, and the excluded."""
    self_or_partner = torch.eye(n, dtype=torch.bool, device=device).repeat(2, 2)
    return ~self_or_partner if excluded is None else ~(self_or_partner | excluded)

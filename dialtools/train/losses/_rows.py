"""What contrastive losses share: float32 whatever the autocast, masks with finite gradients.

N pairs; rows are the N anchors, then the N positives. M negatives that pairs name are columns more.
"""

from __future__ import annotations

import torch
from torch import Tensor

MASKED = -1e9  # finite: -inf in a row without negatives would make gradients NaN


def similarity(left: Tensor, right: Tensor, temperature: float) -> Tensor:
    """Return left·right/temperature in float32; exp of it never leaves log space."""
    with torch.autocast(left.device.type, enabled=False):
        return left.float() @ right.float().T / temperature


def with_named(positive_ND: Tensor, negative_MD: Tensor | None) -> Tensor:
    """Return the columns of a similarity matrix: the rows of the batch, then what pairs name."""
    return positive_ND if negative_MD is None else torch.cat([positive_ND, negative_MD])


def cross_entropy_of_diagonal(logits_NC: Tensor, excluded_NC: Tensor | None) -> Tensor:
    """Return (N,) -log softmax of the diagonal, without the excluded negatives."""
    if excluded_NC is not None:
        diagonal = torch.eye(*logits_NC.shape, dtype=torch.bool, device=logits_NC.device)
        logits_NC = logits_NC.masked_fill(excluded_NC & ~diagonal, MASKED)
    return torch.logsumexp(logits_NC, 1) - logits_NC.diagonal()


def negatives(x: Tensor, excluded: Tensor | None) -> Tensor:
    """Return (2N, 2N + M) bool: all columns but oneself, one's partner, and the excluded."""
    n = len(x) // 2
    self_or_partner = torch.zeros_like(x, dtype=torch.bool)
    self_or_partner[:, : 2 * n] = torch.eye(n, dtype=torch.bool, device=x.device).repeat(2, 2)
    return ~self_or_partner if excluded is None else ~(self_or_partner | excluded)


def partners(x: Tensor) -> Tensor:
    """Return (2N,) each row's similarity to its partner, of a (2N, 2N + M) matrix."""
    n = len(x) // 2
    return torch.cat([x[:n, n : 2 * n].diagonal(), x[n:, :n].diagonal()])

"""The loss of DSE: hard negatives weigh most."""

from __future__ import annotations

import torch
from torch import Tensor

from dialtools.train.losses._rows import MASKED, negatives, similarity


def hard_negative(
    anchor_ND: Tensor,
    positive_ND: Tensor,
    *,
    temperature: float,
    excluded: Tensor | None = None,
) -> Tensor:
    """Contrast each utterance with the 2(N-1) others of its batch, the nearest weighing most.

    DSE eq. 1-3, as coded. With x = similarity/temperature and n negatives,

        sum(alpha·exp(x)) = n·sum(exp(2x))/sum(exp(x));

    gradients flow through alpha; the positive stands in the denominator once.

    Args:
        anchor_ND, positive_ND: unit vectors.
        excluded: (2N, 2N) bool over rows [anchors; positives], True where a row is no negative.

    Returns:
        (N,) the loss of each pair in nats, averaged over its two directions; 0 where there is no
        negative.
    """
    rows = torch.cat([anchor_ND, positive_ND])
    n = len(anchor_ND)
    x = similarity(rows, rows, temperature)
    negative = negatives(n, excluded, rows.device)
    positive = torch.cat([x.diagonal(n), x.diagonal(-n)])
    masked = x.masked_fill(~negative, MASKED)
    log_count = negative.sum(1).clamp(min=1).log()
    weighted = log_count + torch.logsumexp(2 * masked, 1) - torch.logsumexp(masked, 1)
    loss = torch.logaddexp(positive, weighted) - positive
    return (loss[:n] + loss[n:]) / 2

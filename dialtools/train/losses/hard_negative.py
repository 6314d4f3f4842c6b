"""The loss of DSE: hard negatives weigh most."""

from __future__ import annotations

import torch
from torch import Tensor

from dialtools.train.losses._rows import MASKED, negatives, partners, similarity, with_named


def hard_negative(
    anchor_ND: Tensor,
    positive_ND: Tensor,
    *,
    temperature: float,
    excluded: Tensor | None = None,
    negative_MD: Tensor | None = None,
) -> Tensor:
    """Contrast each utterance with the 2(N-1) others of its batch, the nearest weighing most.

    And with the M that pairs name, if they do.

    DSE eq. 1-3, as coded. With x = similarity/temperature and n negatives,

        sum(alpha·exp(x)) = n·sum(exp(2x))/sum(exp(x));

    gradients flow through alpha; the positive stands in the denominator once.

    Args:
        anchor_ND, positive_ND, negative_MD: unit vectors.
        excluded: (2N, 2N + M) bool, True where a column is no negative of a row; rows are
            [anchors; positives], columns the same and the M.

    Returns:
        (N,) the loss of each pair in nats, averaged over its two directions; 0 where there is no
        negative.
    """
    rows = torch.cat([anchor_ND, positive_ND])
    n = len(anchor_ND)
    x = similarity(rows, with_named(rows, negative_MD), temperature)
    negative = negatives(x, excluded)
    positive = partners(x)
    masked = x.masked_fill(~negative, MASKED)
    log_count = negative.sum(1).clamp(min=1).log()
    weighted = log_count + torch.logsumexp(2 * masked, 1) - torch.logsumexp(masked, 1)
    loss = torch.logaddexp(positive, weighted) - positive
    return (loss[:n] + loss[n:]) / 2

"""NT-Xent over both views: SimCLR's loss, DSE's plain option."""

from __future__ import annotations

import torch
from torch import Tensor

from dialtools.train.losses._rows import MASKED, negatives, partners, similarity, with_named


def nt_xent(
    anchor_ND: Tensor,
    positive_ND: Tensor,
    *,
    temperature: float,
    excluded: Tensor | None = None,
    negative_MD: Tensor | None = None,
) -> Tensor:
    """Contrast each utterance with the 2(N-1) others of its batch alike ("Orig" in DSE's code).

    Returns:
        (N,) the loss of each pair in nats, averaged over its two directions.
    """
    rows = torch.cat([anchor_ND, positive_ND])
    n = len(anchor_ND)
    x = similarity(rows, with_named(rows, negative_MD), temperature)
    negative = negatives(x, excluded)
    positive = partners(x)
    others = torch.logsumexp(x.masked_fill(~negative, MASKED), 1)
    loss = torch.logaddexp(positive, others) - positive
    return (loss[:n] + loss[n:]) / 2

"""What a start knows of likeness, kept while its encoder learns something else."""

from __future__ import annotations

import torch
from torch import Tensor

from dialtools.train.losses._rows import MASKED, similarity


def kept_similarities(vectors_ND: Tensor, start_ND: Tensor, *, temperature: float) -> Tensor:
    """Compare whom each text is like, among the texts of its side, with what the start said of it.

    KL(p || q) of the softmax p over the start's similarities to the other rows, and q over those
    of the encoder that learns.

    Args:
        vectors_ND, start_ND: unit vectors of the same texts; D may differ.

    Returns:
        (N,) nats; 0 of a row that is alone.
    """
    itself = torch.eye(len(vectors_ND), dtype=torch.bool, device=vectors_ND.device)
    log_q, log_p = (
        similarity(rows, rows, temperature).masked_fill(itself, MASKED).log_softmax(1)
        for rows in (vectors_ND, start_ND)
    )
    return (log_p.exp() * (log_p - log_q)).sum(1)

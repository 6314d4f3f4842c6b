"""Many sequences to vectors, without gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from dialtools.encoder.batches import pad, token_batches
from dialtools.encoder.device import autocast
from dialtools.encoder.encoder import Encoder


def encode(
    encoder: Encoder,
    sequences: Sequence[np.ndarray],
    *,
    batch_tokens: int,
    precision: str = "float32",
    advance: Callable[[int], None] | None = None,
) -> np.ndarray:
    """Encode sequences of token ids, in batches of like length.

    Args:
        batch_tokens: padded tokens of a batch at most.
        advance: called with the number of sequences after each batch.

    Returns:
        (N, D) float32, in the order of the sequences.
    """
    lengths = np.fromiter((len(s) for s in sequences), np.int64, len(sequences))
    vectors_ND = np.empty((len(sequences), encoder.dimension), np.float32)
    device = encoder.device
    was_training = encoder.training
    encoder.eval()
    with torch.inference_mode(), autocast(device, precision):
        for rows in token_batches(lengths, max_tokens=batch_tokens):
            ids_NT, mask_NT = pad([sequences[i] for i in rows], encoder.special)
            vectors_ND[rows] = encoder(ids_NT.to(device), mask_NT.to(device)).cpu().numpy()
            if advance:
                advance(len(rows))
    encoder.train(was_training)
    return vectors_ND

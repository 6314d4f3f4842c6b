"""Sequences to batches of like length under a token budget: little padding, the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dialtools.encoder.device import moved
from dialtools.encoder.tokens import SpecialTokens


def token_batches(lengths: np.ndarray, *, max_tokens: int) -> list[np.ndarray]:
    """Cut the rows, sorted by length, into batches of at most `max_tokens` padded tokens.

    A row that is longer alone is a batch alone.

    Args:
        lengths: (N,) tokens of each sequence.

    Returns:
        index arrays, longest first, that together hold each row once.
    """
    order = np.argsort(-lengths, kind="stable")
    batches: list[np.ndarray] = []
    start = 0
    while start < len(order):
        rows = max(1, max_tokens // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + rows])
        start += rows
    return batches


def pad(sequences: Sequence[np.ndarray], special: SpecialTokens) -> tuple[Tensor, Tensor]:
    """Return (N, T) int64 ids and (N, T) int64 mask, padded on the right always.

    There no real token of a decoder sees padding, and positions count from the first real token: a
    text's vector does not depend on what it is batched with.
    """
    lengths_N = np.fromiter(map(len, sequences), np.int64, len(sequences))
    real_NT = np.arange(lengths_N.max()) < lengths_N[:, None]
    ids_NT = np.full(real_NT.shape, special.pad, np.int64)
    ids_NT[real_NT] = np.concatenate(sequences)
    return torch.from_numpy(ids_NT), torch.from_numpy(real_NT.astype(np.int64))


def where(states_NTD: Tensor, mask_NT: Tensor) -> Tensor:
    """Return (M, D) the states where a mask is true; of one on the CPU no GPU is waited for."""
    places = moved(mask_NT.flatten().nonzero()[:, 0], states_NTD.device)
    return states_NTD.flatten(0, 1)[places]

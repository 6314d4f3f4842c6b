"""Sequences to batches of like length under a token budget: little padding, the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dialtools.encoder.device import moved
from dialtools.encoder.tokens import SpecialTokens

SPREAD = 4
"""A packed batch hands its states back padded, to at most so many times its real tokens."""


def token_batches(
    lengths: np.ndarray, *, max_tokens: int, packed: bool = False, alike: bool = False
) -> list[np.ndarray]:
    """Cut the rows, sorted by length, into batches of at most `max_tokens` padded tokens.

    A row that is longer alone is a batch alone.

    Args:
        lengths: (N,) tokens of each sequence.
        packed: padding is left out: `max_tokens` are real ones, and padded SPREAD times as many.
        alike: the rows of a batch have one length, so that there is no padding.

    Returns:
        index arrays, longest first, that together hold each row once.
    """
    order = np.argsort(-lengths, kind="stable")
    ends = lengths[order].cumsum()
    batches: list[np.ndarray] = []
    start = 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        end = start + (SPREAD if packed else 1) * max_tokens // longest
        if packed:
            before = ends[start] - lengths[order[start]]
            end = min(end, int(np.searchsorted(ends, before + max_tokens, side="right")))
        if alike:
            end = min(end, int(np.searchsorted(-lengths[order], -longest, side="right")))
        end = max(start + 1, end)
        batches.append(order[start:end])
        start = end
    return batches


def pad(sequences: Sequence[np.ndarray], special: SpecialTokens) -> tuple[Tensor, Tensor]:
    """Return (N, T) int64 ids and (N, T) int64 mask, padded on the right always.

    On that side no real token of a decoder sees padding, and positions count from the first real
    token: a text's vector does not depend on what it is batched with.
    """
    lengths_N = np.fromiter(map(len, sequences), np.int64, len(sequences))
    real_NT = np.arange(lengths_N.max()) < lengths_N[:, None]
    ids_NT = np.full(real_NT.shape, special.pad, np.int64)
    ids_NT[real_NT] = np.concatenate(sequences)
    return torch.from_numpy(ids_NT), torch.from_numpy(real_NT.astype(np.int64))


def where(states_NTD: Tensor, mask_NT: Tensor) -> Tensor:
    """Return (M, D) the states where a mask is true; one on the CPU costs no wait for a GPU."""
    places = moved(mask_NT.flatten().nonzero()[:, 0], states_NTD.device)
    return states_NTD.flatten(0, 1)[places]

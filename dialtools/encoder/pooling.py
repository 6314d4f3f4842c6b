"""Token vectors to one vector a text. N texts, T tokens, D dimensions; mask is 1 on real tokens."""

from __future__ import annotations

import torch
from torch import Tensor


def mean(hidden_NTD: Tensor, mask_NT: Tensor) -> Tensor:
    """Average over real tokens, special tokens included.

    Where the mask holds weights of tokens (0 on padding) it is the weighted average.
    """
    weight_NT1 = mask_NT.unsqueeze(-1).to(hidden_NTD.dtype)
    return (hidden_NTD * weight_NT1).sum(1) / weight_NT1.sum(1).clamp(min=1e-9)


def first(hidden_NTD: Tensor, mask_NT: Tensor) -> Tensor:
    """Take the first real token: [CLS], whichever side the padding is on."""
    row_N = torch.arange(len(hidden_NTD), device=hidden_NTD.device)
    return hidden_NTD[row_N, mask_NT.argmax(1)]


def maximum(hidden_NTD: Tensor, mask_NT: Tensor) -> Tensor:
    """Take the largest value of each dimension over real tokens."""
    return hidden_NTD.masked_fill(mask_NT.unsqueeze(-1) == 0, float("-inf")).amax(1)


def last(hidden_NTD: Tensor, mask_NT: Tensor) -> Tensor:
    """Take the last real token, for decoders."""
    row_N = torch.arange(len(hidden_NTD), device=hidden_NTD.device)
    position_T = torch.arange(mask_NT.shape[1], device=mask_NT.device)
    return hidden_NTD[row_N, (mask_NT * position_T).argmax(1)]

"""Short texts side by side in blocks of tokens, so that a GPU's attention wastes little.

The kernel for texts of many lengths works on 128 tokens at a time, however short a text is: with
texts of 18 tokens, six sevenths of its work is for nothing. A block that several texts share is
used whole, and a mask keeps each token to its own text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

COSTS = {64: 0.09, 128: 0.17}
"""The time of attention in blocks of so many tokens, as a share of the other layers' time."""
ALONE = 8
"""The tokens that the other layers compute while attention computes one text outside blocks.

This and the cost of 128 tokens were measured on steps of BERT base's shape, on an H100 in bfloat16;
64 tokens cost half of that, as the kernel's tiles are half as large.
"""


class Blocks(NamedTuple):
    """Where N texts stand in blocks.

    Attributes:
        begins: (N,) the place of each text's first token.
        tokens: of all blocks together, empty ones included.
        room: tokens of a block.
    """

    begins: np.ndarray
    tokens: int
    room: int


def fitting(sizes_N: np.ndarray) -> Blocks | None:
    """Return the blocks in which texts are computed fastest; None if they are faster without.

    The empty tokens of blocks are work for the other layers.

    Args:
        sizes_N: tokens of each text.
    """
    longest = int(sizes_N.max(initial=0))
    soonest = float(sizes_N.sum() + ALONE * np.count_nonzero(sizes_N))
    best: Blocks | None = None
    for room, cost in COSTS.items():
        if 0 < longest <= room:
            found = filled(sizes_N, room)
            if found.tokens * (1 + cost) < soonest:
                best, soonest = found, found.tokens * (1 + cost)
    return best


def filled(sizes_N: np.ndarray, room: int) -> Blocks:
    """Return texts in blocks, each of which takes the longest text that still fits until none does.

    Args:
        sizes_N: tokens of each text; one without tokens stands nowhere.
        room: tokens of a block; at least those of the longest text.
    """
    waiting: list[list[int]] = [[] for _ in range(room + 1)]
    for text, size in enumerate(sizes_N.tolist()):
        waiting[size].append(text)
    left = sum(1 << size for size, texts in enumerate(waiting) if size and texts)
    begins = [0] * len(sizes_N)
    end = 0
    while left:
        begin, end = end, end + room
        while fits := left & ((2 << end - begin) - 1):  # the sizes that there is room for
            size = fits.bit_length() - 1
            begins[waiting[size].pop()] = begin
            begin += size
            if not waiting[size]:
                left ^= 1 << size
    return Blocks(np.array(begins, np.int64), end, room)


def seen(text_BT: Tensor, position_BT: Tensor, window: tuple[int, int]) -> Tensor:
    """Return (B, 1, T, T) bool: True where a token of a block sees another, of its own text.

    Args:
        text_BT: the number of each token's text; empty tokens share one.
        position_BT: each token's position in its text.
        window: tokens to the left and to the right that a token sees; -1 is all.
    """
    same = text_BT[:, :, None] == text_BT[:, None]
    ahead = position_BT[:, None] - position_BT[:, :, None]
    left, right = window
    if left >= 0:
        same &= ahead >= -left
    if right >= 0:
        same &= ahead <= right
    return same[:, None]


def added(seen_B1TT: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the mask as it is added to attention's scores: 0 where seen, else minus infinity."""
    return torch.zeros_like(seen_B1TT, dtype=dtype).masked_fill_(~seen_B1TT, float("-inf"))

"""Short texts filled into blocks of tokens: on a GPU, what attention costs as little as it can.

Its kernel for texts of many lengths takes 128 tokens at a time however short a text is: of texts of
18 tokens six sevenths of that is for nothing. Of a block of several texts all is used, and what a
token sees of it is a mask.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

COSTS = {64: 0.09, 128: 0.17}
"""Attention's time in blocks of so many tokens, as a share of that of the other layers."""
ALONE = 8
"""The tokens that other layers compute while attention computes a text that is in no block.

That and the cost in 128 tokens come from steps of BERT base's shape on an H100, in bfloat16; in 64
it is half of that, as the kernel's tiles are.
"""


class Blocks(NamedTuple):
    """Where N texts stand.

    Attributes:
        begins: (N,) the token at which each begins.
        tokens: of all blocks.
        room: tokens of a block.
    """

    begins: np.ndarray
    tokens: int
    room: int


def fitting(sizes_N: np.ndarray) -> Blocks | None:
    """Return the blocks that texts are computed in soonest; None where none are better.

    The other layers compute the empty tokens of blocks, too.

    Args:
        sizes_N: tokens of each.
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
    """Return texts in blocks, each filled with the longest that fits, time and again.

    Args:
        sizes_N: tokens of each; one of none stands nowhere.
        room: tokens of a block, as many as the longest text at least.
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
    """Return (B, 1, T, T) True where a token of a block sees another, of its own text.

    Args:
        text_BT: the text of each token; those that are none share one.
        position_BT: its position in that.
        window: tokens on the left and on the right that it sees; -1 is all.
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
    """Return what is added to products: nothing where a token is seen, else minus infinity."""
    return torch.zeros_like(seen_B1TT, dtype=dtype).masked_fill_(~seen_B1TT, float("-inf"))

"""A large batch in little memory: gradient caching, exact, dropout replayed (Gao et al. 2021).

What a micro-batch draws depends on the seed and its number alone: neither on whether it is encoded
again, nor on which process encodes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from dialtools.encoder.chain import along
from dialtools.train.draws import mixed_seed
from dialtools.train.ranks import ALONE, Ranks


def backward(
    encode: Callable[[Any], Tensor],
    parts: Sequence[Any],
    loss: Callable[[Tensor], Tensor],
    *,
    seed: int,
    cached: bool,
    parameters: Sequence[nn.Parameter] = (),
    ranks: Ranks = ALONE,
) -> Tensor:
    """Run forward over the parts of a batch, one loss over all, and backward.

    Args:
        encode: from a part to its (n, D) vectors.
        loss: from the vectors of all parts, in order, to a scalar.
        seed: of what is drawn on the way; torch's generators are left elsewhere.
        cached: keep no graph; encode each part again after the loss, with the same dropout, for the
            same gradients. Memory is then that of one part.
        parameters: all that get gradients, of the encoder and of the loss.
        ranks: the processes among which the parts are dealt out.

    Returns:
        the loss, detached; parameters have the same gradients in each process.
    """
    encoded = partial(_encoded, encode, parts, seed)
    own = ranks.own(len(parts))
    with torch.no_grad() if cached else nullcontext():
        rows = [encoded(number) for number in own]
    leaves, sizes = ranks.gathered([piece.detach() for piece in rows], len(parts))
    torch.manual_seed(mixed_seed(0, seed))
    total = loss(leaves.requires_grad_())
    gradients = _gradients(total, leaves).split(sizes)
    if ranks.rank:  # every process has those of the loss itself: they count once
        for parameter in parameters:
            parameter.grad = None
    for number, piece in zip(own, rows, strict=True):
        piece = encoded(number) if cached else piece
        along(piece, gradients[number]).backward()
    ranks.sum_gradients(parameters)
    return total.detach()


def _encoded(
    encode: Callable[[Any], Tensor], parts: Sequence[Any], seed: int, number: int
) -> Tensor:
    torch.manual_seed(mixed_seed(number + 1, seed))
    return encode(parts[number])


def _gradients(total: Tensor, leaves: Tensor) -> Tensor:
    total.backward()
    assert leaves.grad is not None
    return leaves.grad

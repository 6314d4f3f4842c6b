"""A large batch in little memory: gradient caching, exact, dropout replayed (Gao et al. 2021)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from dialtools.encoder.randomness import random_state, set_random_state


def backward(
    encode: Callable[[Any], Tensor],
    parts: Sequence[Any],
    loss: Callable[[Tensor], Tensor],
    *,
    device: torch.device,
    cached: bool,
) -> Tensor:
    """Run forward over the parts of a batch, one loss over all, and backward.

    Args:
        encode: from a part to its (n, D) vectors.
        loss: from the vectors of all parts, in order, to a scalar.
        device: where `encode` computes.
        cached: keep no graph; after the loss encode each part again, with the same dropout, for its
            gradients. Memory is then that of one part. Gradients are the same.

    Returns:
        the loss, detached; gradients are added to the parameters.
    """
    if cached:
        return _backward_twice(encode, parts, loss, device)
    total = loss(torch.cat([encode(part) for part in parts]))
    total.backward()
    return total.detach()


def _backward_twice(
    encode: Callable[[Any], Tensor],
    parts: Sequence[Any],
    loss: Callable[[Tensor], Tensor],
    device: torch.device,
) -> Tensor:
    """Run forward without graphs, backward to the vectors, then each part again for its weights."""
    states: list[Any] = []
    vectors: list[Tensor] = []
    with torch.no_grad():
        for part in parts:
            states.append(random_state(device))
            vectors.append(encode(part))
    leaves = torch.cat(vectors).requires_grad_()
    total = loss(leaves)
    total.backward()
    assert leaves.grad is not None
    gradients = leaves.grad.split([len(rows) for rows in vectors])
    for part, state, gradient in zip(parts, states, gradients, strict=True):
        set_random_state(device, state)
        encode(part).backward(gradient)
    # what draws next goes on as if parts were encoded once: the last was encoded from its state
    return total.detach()

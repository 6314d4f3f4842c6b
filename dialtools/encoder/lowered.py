"""A backbone that learns in 32 bits and computes in 16: all its weights are cast at once.

Autocast casts each weight and each layer's input by itself, and computes norms and sums of layers
in 32 bits: on a GPU that is as many bytes again as the layers' own, and twice the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn


class _Cast(torch.autograd.Function):
    """Tensors in another precision; gradients in the tensors' own."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.dtypes = [tensor.dtype for tensor in tensors]
        copies = tuple(_copied(tensors, [dtype] * len(tensors)))
        learns = ctx.needs_input_grad[1:]
        frozen = [x for x, learnt in zip(copies, learns, strict=True) if not learnt]
        ctx.mark_non_differentiable(*frozen)
        return copies

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        pairs = zip(gradients, ctx.dtypes, strict=True)
        given = [(x, dtype) for x, dtype in pairs if x is not None]
        copies = iter(_copied([x for x, _ in given], (dtype for _, dtype in given)))
        return None, *(None if x is None else next(copies) for x in gradients)


def _copied(tensors: Sequence[Tensor], dtypes: Iterable[torch.dtype]) -> list[Tensor]:
    """Return copies of tensors, each in its own precision, by few calls of a GPU."""
    copies = [torch.empty_like(x, dtype=dtype) for x, dtype in zip(tensors, dtypes, strict=True)]
    if copies:
        torch.ops.aten._foreach_copy_(copies, list(tensors))
    return copies


def called(backbone: nn.Module, dtype: torch.dtype, given: dict[str, Any]) -> Any:
    """Call a backbone with copies of its weights in a precision; gradients reach the weights."""
    weights = {
        f"{part}.{own}".removeprefix("."): weight
        for part, module in backbone.named_modules()  # one of two names is put back once
        for own, weight in module.named_parameters(recurse=False)
    }
    distinct = list(dict.fromkeys(weights.values()))  # a weight may be of two parts
    cast = dict(zip(distinct, _Cast.apply(dtype, *distinct), strict=True))
    swapped = {name: cast[weight] for name, weight in weights.items()}
    with torch.autocast(distinct[0].device.type, enabled=False):
        return torch.func.functional_call(backbone, swapped, (), given, tie_weights=False)

"""Layers of a CPU that do the same sooner, in the place of torch's own.

torch multiplies matrices of 32 bits by MKL, which leaves AVX-512 of AMD's processors alone; oneDNN,
which torch has for other precisions, takes 0.45 of the time there, forward and backward.

For the gradient of word embeddings torch makes a matrix of zeros of all words for each micro-batch,
and adds them up: 47 MB of MiniLM's for a thousand tokens, a tenth of the time that it takes to
learn from them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

CPUINFO = Path("/proc/cpuinfo")
VENDOR = "AuthenticAMD"


class Linear(nn.Linear):
    """A linear layer that takes the faster way."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x W' + b: of 32 bits on a CPU by oneDNN, where that is faster, else as torch does."""
    whole = rows.dtype is weight.dtype is torch.float32
    plain = whole and rows.device.type == "cpu" and rows.ndim > 1 and rows.numel() > 0
    if not plain or torch.is_autocast_enabled("cpu") or not is_faster():
        return nn.functional.linear(rows, weight, bias)
    if not torch.is_grad_enabled():
        return _product(rows, weight, bias)
    return cast("Tensor", _Linear.apply(rows, weight, bias))


class _Linear(torch.autograd.Function):
    """y = x W' + b, and its gradients: dx = dy W, dW = dy' x, db = the sum of dy."""

    @staticmethod
    def forward(ctx: Any, *given: Any) -> Tensor:
        rows, weight, bias = given
        ctx.save_for_backward(rows, weight)
        return _product(rows, weight, bias)

    @staticmethod
    def backward(ctx: Any, *given: Any) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        gradient = given[0].contiguous()
        flat = gradient.flatten(0, -2)
        of_rows, of_weight, of_bias = ctx.needs_input_grad
        return (
            _product(gradient, weight.t(), None) if of_rows else None,
            _product(flat.t(), rows.flatten(0, -2).t(), None) if of_weight else None,
            flat.sum(0) if of_bias else None,
        )


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x W' + b."""
    return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")


@cache
def is_faster() -> bool:
    """Tell whether oneDNN is there, and MKL slower than it."""
    return (
        torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and _vendor() == VENDOR
    )


def _vendor() -> str:
    """Return who made the processor, as Linux tells; nothing where it does not."""
    try:
        with CPUINFO.open() as lines:
            told = (line.partition(":") for line in lines)
            return next((value.strip() for key, _, value in told if key.strip() == "vendor_id"), "")
    except OSError:
        return ""


class Lookup(nn.Embedding):
    """A table of embeddings; on a GPU, and with what changes gradients, as any other."""

    gradient: Tensor | None = None
    """The memory of the gradient, kept from step to step: new pages cost more than their zeros."""

    def forward(self, input: Tensor) -> Tensor:
        usual = self.sparse or self.scale_grad_by_freq or self.max_norm is not None
        learns = self.weight.requires_grad and torch.is_grad_enabled()
        if usual or not learns or self.weight.device.type != "cpu":
            return super().forward(input)
        return cast("Tensor", _Rows.apply(input, self.weight, self))

    def add(self, ids: Tensor, gradient: Tensor) -> None:
        """Add the gradient of some rows to that of the table."""
        if self.weight.grad is None:
            if self.gradient is None:
                self.gradient = torch.empty_like(self.weight)
            self.weight.grad = self.gradient.detach().zero_()
        if self.padding_idx is not None:
            real = ids != self.padding_idx
            ids, gradient = ids[real], gradient[real]
        rows = gradient.flatten(0, -2).to(self.weight.dtype)  # that of a copy may have 16 bits
        self.weight.grad.index_add_(0, ids.flatten(), rows)


class _Rows(torch.autograd.Function):
    """Rows of a table, which adds up their gradients itself."""

    @staticmethod
    def forward(ctx: Any, *given: Any) -> Tensor:
        ids, weight, ctx.table = given
        ctx.save_for_backward(ids)
        return nn.functional.embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, *given: Any) -> tuple[None, None, None]:
        ctx.table.add(*ctx.saved_tensors, given[0])
        return None, None, None


QUICK: dict[type[nn.Module], type[nn.Module]] = {nn.Linear: Linear, nn.Embedding: Lookup}


def quicken(module: nn.Module) -> None:
    """Let the layers in a module take the faster way from now on, where there is one.

    Their parameters, and what is saved of them, stay as they are.
    """
    for layer in module.modules():
        layer.__class__ = QUICK.get(type(layer), type(layer))

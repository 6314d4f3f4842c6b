"""Word embeddings whose gradient is added up in place, on a CPU.

torch makes a matrix of zeros of all words for each micro-batch, and adds them up: 47 MB of MiniLM's
for a thousand tokens, a tenth of the time that it takes to learn from them.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn


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

"""Adam for tables of which a step touches few rows: only those move, and only their averages."""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor


class LazyAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba 2015, algorithm 1), of sparse gradients as torch's SparseAdam.

    A row without a gradient stays as it is, its averages too; dense gradients are all rows.

    Args:
        fused, weight_decay: as torch's optimisers take them; nothing is fused, nothing decays.
    """

    # torch wraps these to keep its compiler out, and the first call would load all of that
    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    state_dict = unwrap(torch.optim.Optimizer.state_dict)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        fused: bool = True,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Take a step."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        state["step"] += 1
        first, second = group["betas"]
        step = float(state["step"])
        rate = group["lr"] * (1 - second**step) ** 0.5 / (1 - first**step)
        rows: Any = slice(None)
        if gradient.is_sparse:
            gradient = coalesced(gradient)
            rows, gradient = gradient.indices()[0], gradient.values()
        mean = state["exp_avg"][rows].lerp(gradient, 1 - first)
        square = state["exp_avg_sq"][rows].lerp(gradient.square(), 1 - second)
        state["exp_avg"][rows], state["exp_avg_sq"][rows] = mean, square
        length = square.sqrt().add_(group["eps"])
        parameter[rows] = parameter[rows].addcdiv(mean, length, value=-rate)


def coalesced(gradient: Tensor) -> Tensor:
    """Return a sparse gradient with each row once.

    Autograd loses the mark of one that is so already; a look is cheaper than to sort again.
    """
    rows = gradient._indices()[0]
    if bool((rows[1:] > rows[:-1]).all()):
        gradient._coalesced_(True)
    return gradient.coalesce()

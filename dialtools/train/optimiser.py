"""Optimisers and learning-rate schedules; Adam for tables of which a step touches few rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import unwrap
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dialtools.encoder.encoder import Encoder
from dialtools.train.catalog import OPTIMISERS, SCHEDULES

START, END = 1 / 25, 1 / 25e4  # of the highest rate: torch's one-cycle defaults
MOMENTUM = (0.95, 0.85)  # at the ends and at the peak, likewise


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


def build(
    name: str,
    encoder: Encoder,
    head: nn.Module,
    *,
    lr: float,
    head_multiplier: float,
    weight_decay: float,
) -> torch.optim.Optimizer:
    """Return a fused optimiser; nothing decays of biases and norms, which have one dimension.

    Args:
        lr: of the encoder; the head's is `head_multiplier` times that.
    """
    groups: list[dict[str, Any]] = []
    for module, rate in ((encoder, lr), (head, lr * head_multiplier)):
        parameters = [p for p in module.parameters() if p.requires_grad]
        matrices = [p for p in parameters if p.ndim > 1]
        vectors = [p for p in parameters if p.ndim < 2]
        for members, decay in ((matrices, weight_decay), (vectors, 0.0)):
            if members:
                groups.append({"params": members, "lr": rate, "base": rate, "weight_decay": decay})
    return OPTIMISERS[name].load()(groups, lr=lr, fused=True)


def clip(optimiser: torch.optim.Optimizer, norm: float) -> None:
    """Scale all gradients down together until their norm is at most so large."""
    values: list[Tensor] = []
    for parameter in (p for group in optimiser.param_groups for p in group["params"]):
        gradient = parameter.grad
        if gradient is not None and gradient.is_sparse:
            parameter.grad = coalesced(gradient)
            values.append(parameter.grad.values())
        elif gradient is not None:
            values.append(gradient)
    total = nn.utils.get_total_norm(values)
    scale = (norm / (total + 1e-6)).clamp(max=1.0)
    torch.ops.aten._foreach_mul_.Tensor(values, scale)


class Pace(NamedTuple):
    """What the rates are multiplied by at a step, and the first momentum if it moves too."""

    rate: float
    momentum: float | None = None


def constant(step: int, *, total: int, warmup: float) -> Pace:
    """The rate stays."""
    return _after_warmup(step, total, warmup, lambda progress: 1.0)


def linear(step: int, *, total: int, warmup: float) -> Pace:
    """The rate falls to 0 in a line."""
    return _after_warmup(step, total, warmup, lambda progress: 1.0 - progress)


def cosine(step: int, *, total: int, warmup: float) -> Pace:
    """The rate falls to 0 along half a cosine."""
    return _after_warmup(step, total, warmup, half_cosine)


def one_cycle(step: int, *, total: int, warmup: float) -> Pace:
    """The rate rises along a cosine from 1/25 and falls to nothing, as torch's OneCycleLR.

    The first momentum moves against it, from 0.95 to 0.85 and back.
    """
    high, low = MOMENTUM
    return Pace(
        rate=there_and_back(step, total=total, rising=warmup, ends=(START, 1.0, END)),
        momentum=there_and_back(step, total=total, rising=warmup, ends=(high, low, high)),
    )


def _after_warmup(step: int, total: int, warmup: float, falling: Callable[[float], float]) -> Pace:
    """Rise in a line over a share of the steps, then go as `falling` says of the rest."""
    rising = round(warmup * total)
    if step < rising:
        return Pace((step + 1) / rising)
    return Pace(falling((step - rising) / max(1, total - rising)))


def half_cosine(progress: float) -> float:
    """Return 1 at progress 0 and 0 at 1, along half a cosine."""
    return (1 + math.cos(math.pi * progress)) / 2


def there_and_back(
    step: int, *, total: int, rising: float, ends: tuple[float, float, float]
) -> float:
    """Return a value that goes along half a cosine to its peak, then along another to its end.

    Args:
        rising: share of the steps before the peak.
        ends: the value at the first step, at the peak, at the last step.
    """
    first, highest, end = ends
    peak, last = rising * total - 1, max(1, total - 1)  # a single step is not the end's
    if step <= peak:
        return highest + (first - highest) * half_cosine(step / peak if peak > 0 else 1.0)
    return end + (highest - end) * half_cosine((step - peak) / (last - peak))


def pace(schedule: str, step: int, *, total: int, warmup: float) -> Pace:
    """Return the pace at a step (0-based): a function of the step alone, so that resume is exact.

    Args:
        warmup: share of the steps over which the rate rises.
    """
    return SCHEDULES[schedule].load()(step, total=total, warmup=warmup)


def set_rates(
    optimiser: torch.optim.Optimizer, schedule: str, step: int, *, total: int, warmup: float
) -> float:
    """Set every group's rate to its base times what the schedule says, and return that."""
    rate, momentum = pace(schedule, step, total=total, warmup=warmup)
    for group in optimiser.param_groups:
        group["lr"] = group["base"] * rate
        if momentum is not None:
            group["betas"] = (momentum, group["betas"][1])
    return rate

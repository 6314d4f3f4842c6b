"""Optimisers and learning-rate schedules."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn

OPTIMISERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def build(
    name: str,
    encoder: nn.Module,
    head: nn.Module,
    *,
    lr: float,
    head_multiplier: float,
    weight_decay: float,
) -> torch.optim.Optimizer:
    """Return a fused optimiser: encoder at `lr`, head at `head_multiplier` times that; no decay on biases and norms."""
    groups = []
    for module, rate in ((encoder, lr), (head, lr * head_multiplier)):
        parameters = [p for p in module.parameters() if p.requires_grad]
        for members, decay in (
            ([p for p in parameters if p.ndim > 1], weight_decay),
            ([p for p in parameters if p.ndim < 2], 0.0),
        ):
            if members:
                groups.append({"params": members, "lr": rate, "base": rate, "weight_decay": decay})
    return OPTIMISERS[name](groups, lr=lr, fused=True)


def constant(progress: float) -> float:
    """The rate stays."""
    return 1.0


def linear(progress: float) -> float:
    """The rate falls to 0 in a line."""
    return 1.0 - progress


def cosine(progress: float) -> float:
    """The rate falls to 0 along half a cosine."""
    return (1 + math.cos(math.pi * progress)) / 2


SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": constant,
    "linear": linear,
    "cosine": cosine,
}
START, END = 1 / 25, 1 / 25e4  # of the highest rate: torch's one-cycle defaults
MOMENTUM = (0.95, 0.85)


def one_cycle(step: int, *, total: int, rising: float, ends: tuple[float, float, float]) -> float:
    """Return a value that goes along half a cosine to its peak, then along another to its end, as torch's OneCycleLR.

    Args:
        rising: share of the steps before the peak.
        ends: the value at the first step, at the peak, at the last step.
    """
    peak, last = rising * total - 1, total - 1
    if step <= peak:
        return ends[1] + (ends[0] - ends[1]) * cosine(step / peak if peak > 0 else 1.0)
    return ends[2] + (ends[1] - ends[2]) * cosine((step - peak) / (last - peak))


def factor(schedule: str, step: int, *, total: int, warmup: float) -> float:
    """Return what the rates are multiplied by at a step (0-based); a function of the step alone, so resume is exact.

    Args:
        warmup: share of the steps over which the rate rises in a line, or with one-cycle along a
        cosine from 1/25.
    """
    if schedule == "one-cycle":
        return one_cycle(step, total=total, rising=warmup, ends=(START, 1.0, END))
    rising = round(warmup * total)
    if step < rising:
        return (step + 1) / rising
    return SCHEDULES[schedule]((step - rising) / max(1, total - rising))


def set_rates(
    optimiser: torch.optim.Optimizer, schedule: str, step: int, *, total: int, warmup: float
) -> float:
    """Set every group's rate to its base times what the schedule says, and return that.

    One-cycle moves the first momentum against the rate, from 0.95 to 0.85 and back, as torch's
    OneCycleLR does.
    """
    multiplier = factor(schedule, step, total=total, warmup=warmup)
    for group in optimiser.param_groups:
        group["lr"] = group["base"] * multiplier
        if schedule == "one-cycle":
            high, low = MOMENTUM
            group["betas"] = (
                one_cycle(step, total=total, rising=warmup, ends=(high, low, high)),
                group["betas"][1],
            )
    return multiplier

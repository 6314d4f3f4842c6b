"""Optimisers and learning-rate schedules."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn

OPTIMISERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def build(name: str, encoder: nn.Module, head: nn.Module, *, lr: float, head_multiplier: float, weight_decay: float) -> torch.optim.Optimizer:  # fmt: skip
    """Return a fused optimiser: encoder at `lr`, head at `head_multiplier` times that; no decay on biases and norms."""
    groups = []
    for module, rate in ((encoder, lr), (head, lr * head_multiplier)):
        parameters = [p for p in module.parameters() if p.requires_grad]
        for members, decay in (([p for p in parameters if p.ndim > 1], weight_decay), ([p for p in parameters if p.ndim < 2], 0.0)):  # fmt: skip
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


SCHEDULES: dict[str, Callable[[float], float]] = {"constant": constant, "linear": linear, "cosine": cosine, "one-cycle": cosine}  # fmt: skip


def factor(schedule: str, step: int, *, total: int, warmup: float) -> float:
    """Return what the rates are multiplied by at a step (0-based); a function of the step alone, so resume is exact.

    Args:
        warmup: share of the steps over which the rate rises in a line; one-cycle rises along a cosine from 1/25.
    """
    rising = round(warmup * total)
    if step < rising:
        share = (step + 1) / rising
        return 0.04 + 0.96 * (1 - cosine(share)) if schedule == "one-cycle" else share
    return SCHEDULES[schedule]((step - rising) / max(1, total - rising))


def set_rates(optimiser: torch.optim.Optimizer, multiplier: float) -> None:
    """Set every group's rate to its base times the multiplier."""
    for group in optimiser.param_groups:
        group["lr"] = group["base"] * multiplier

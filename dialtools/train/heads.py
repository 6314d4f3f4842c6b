"""Heads: what stands between encoder and loss in training, and is dropped at the end."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

DSE_DIMENSION = 128  # DSE, 4.1


def mlp(dimension: int) -> nn.Module:
    """DSE's head: d -> d -> 128, no bias (METHODS 2.3)."""
    return nn.Sequential(nn.Linear(dimension, dimension, bias=False), nn.ReLU(), nn.Linear(dimension, DSE_DIMENSION, bias=False))  # fmt: skip


def tanh(dimension: int) -> nn.Module:
    """SimCSE's head: d -> d, tanh (METHODS 7)."""
    return nn.Sequential(nn.Linear(dimension, dimension), nn.Tanh())


def none(dimension: int) -> nn.Module:
    """No head."""
    return nn.Identity()


HEADS: dict[str, Callable[[int], nn.Module]] = {"mlp": mlp, "tanh": tanh, "none": none}


def build(name: str, dimension: int, *, seed: int) -> nn.Module:
    """Return a head with weights that depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return HEADS[name](dimension)

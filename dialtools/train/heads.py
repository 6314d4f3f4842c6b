"""Heads: what stands between encoder and loss in training, and is dropped at the end.

M rows (anchors, then positives), D dimensions of the encoder, H of the head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from dialtools.encoder.randomness import seeded

DSE_DIMENSION = 128  # DSE, 4.1
PER_WINDOW = "window-linear"


def mlp(dimension: int) -> nn.Module:
    """DSE's head: d -> d -> 128, no bias (METHODS 2.3)."""
    return nn.Sequential(
        nn.Linear(dimension, dimension, bias=False),
        nn.ReLU(),
        nn.Linear(dimension, DSE_DIMENSION, bias=False),
    )


def tanh(dimension: int) -> nn.Module:
    """SimCSE's head: d -> d, tanh (METHODS 7)."""
    return nn.Sequential(nn.Linear(dimension, dimension), nn.Tanh())


def linear(dimension: int) -> nn.Module:
    """WMDC's head: d -> d with bias (METHODS 4.2); shared by all windows."""
    return nn.Linear(dimension, dimension)


def none(dimension: int) -> nn.Module:
    """No head."""
    return nn.Identity()


HEADS: dict[str, Callable[[int], nn.Module]] = {
    "mlp": mlp,
    "tanh": tanh,
    "linear": linear,
    "none": none,
}


class Shared(nn.Module):
    """One head for all pairs."""

    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, rows_MD: Tensor, window_M: Tensor) -> Tensor:
        """Return (M, H)."""
        return self.layers(rows_MD)


class PerWindow(nn.Module):
    """WMDC: one linear head for each window size, on contexts and responses of its pairs alike (METHODS 4.2)."""

    def __init__(self, dimension: int, windows: Sequence[int]) -> None:
        super().__init__()
        drawn = {
            window: linear(dimension) for window in range(1, max(windows) + 1)
        }  # a window's start is its own
        self.heads = nn.ModuleDict({str(window): drawn[window] for window in windows})

    def forward(self, rows_MD: Tensor, window_M: Tensor) -> Tensor:
        """Return (M, D), each row through the head of its window."""
        present = [int(window) for window in window_M.unique()]
        if len(present) == 1:
            return self.heads[str(present[0])](rows_MD)
        headed = torch.empty_like(rows_MD)
        for window in present:
            own = window_M == window
            headed[own] = self.heads[str(window)](rows_MD[own])
        return headed


def build(name: str, dimension: int, *, windows: Sequence[int], seed: int) -> nn.Module:
    """Return a head, rows and their windows to rows; its weights depend on the seed alone.

    Args:
        windows: window sizes of the pairs to train on, ascending.
    """
    with seeded(seed):
        return (
            PerWindow(dimension, windows) if name == PER_WINDOW else Shared(HEADS[name](dimension))
        )

"""Heads: what stands between encoder and loss in training, and is dropped at the end.

M rows (anchors, then positives), D dimensions of the encoder, H of the head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from dialtools.encoder.device import moved
from dialtools.encoder.kept_head import SHARED
from dialtools.encoder.randomness import seeded
from dialtools.errors import ConfigError
from dialtools.train.catalog import HEADS

DSE_DIMENSION = 128  # DSE, 4.1
MOST_WINDOWS = 16  # `--window all` makes a size of every length of history


def mlp(dimension: int) -> nn.Module:
    """DSE's head: d -> d -> 128, no bias (app. A.2)."""
    return nn.Sequential(
        nn.Linear(dimension, dimension, bias=False),
        nn.ReLU(),
        nn.Linear(dimension, DSE_DIMENSION, bias=False),
    )


def tanh(dimension: int) -> nn.Module:
    """SimCSE's head: d -> d, tanh."""
    return nn.Sequential(nn.Linear(dimension, dimension), nn.Tanh())


def linear(dimension: int) -> nn.Module:
    """WMDC's head: d -> d with bias (section 5); shared by all windows."""
    return nn.Linear(dimension, dimension)


class Shared(nn.Module):
    """One head for all pairs."""

    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, rows_MD: Tensor, window_M: Tensor) -> Tensor:
        """Return (M, H)."""
        return self.layers(rows_MD)


class PerWindow(nn.Module):
    """A head for each window size, on contexts and responses of its pairs (WMDC 5).

    Args:
        layer: from the encoder's dimension to the head of one window.
        windows: window sizes of the pairs to train on, ascending.

    Raises:
        ConfigError: for more window sizes than anyone would give a head each.
    """

    def __init__(
        self, layer: Callable[[int], nn.Module], dimension: int, windows: Sequence[int]
    ) -> None:
        super().__init__()
        if len(windows) > MOST_WINDOWS:
            raise ConfigError(
                f"{len(windows)} window sizes, and a head for each",
                hint="choose some with --window, or --head linear --batches mixed",
            )
        self.heads = nn.ModuleDict()
        # Those of absent windows are drawn too: an ablation then starts from the same head.
        for window in range(1, max(windows) + 1):
            drawn = layer(dimension)
            if window in windows:
                self.heads[str(window)] = drawn

    def forward(self, rows_MD: Tensor, window_M: Tensor) -> Tensor:
        """Return (M, D), each row through the head of its window; windows had better be on the CPU.

        Of those no GPU has to be waited for.
        """
        present = window_M.unique().tolist()
        if len(present) == 1:
            return self.heads[str(present[0])](rows_MD)
        headed = torch.empty_like(rows_MD)
        for window in present:
            members = moved((window_M == window).nonzero()[:, 0], rows_MD.device)
            headed[members] = self.heads[str(window)](rows_MD[members])
        return headed


def kept(head: nn.Module) -> dict[str, nn.Module]:
    """Return the heads to keep, by the name that each is called by."""
    if isinstance(head, PerWindow):
        return dict(head.heads.items())
    assert isinstance(head, Shared)
    return {SHARED: head.layers}


def build(name: str, dimension: int, *, windows: Sequence[int], seed: int) -> nn.Module:
    """Return a head, rows and their windows to rows; its weights depend on the seed alone.

    Args:
        windows: window sizes of the pairs to train on, ascending.
    """
    entry = HEADS[name]
    layer = entry.load()
    with seeded(seed):
        if entry.per_window:
            return PerWindow(layer, dimension, windows)
        return Shared(layer(dimension))

"""TaDSE's alignment layer M_A, t' = M_A t, kept in the model directory beside the encoder.

torch is imported where there is a layer: most models have none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

NAME = "alignment.safetensors"


def alignment_layer(dimension: int, *, seed: int = 0) -> nn.Module:
    """Return Linear(d, d) and tanh, as TaDSE's code has it."""
    from torch import nn

    from dialtools.encoder.randomness import seeded

    with seeded(seed):
        return nn.Sequential(nn.Linear(dimension, dimension), nn.Tanh())


def save_alignment(layer: nn.Module, directory: Path) -> None:
    """Write the layer into a model directory."""
    from safetensors.torch import save_file

    state = layer.state_dict()
    tensors = {name: value.cpu().contiguous() for name, value in state.items()}
    save_file(tensors, directory / NAME)


def has_alignment(directory: Path) -> bool:
    """Tell whether a model directory has the layer."""
    return (directory / NAME).is_file()


def load_alignment(directory: Path, dimension: int) -> nn.Module | None:
    """Return the layer of a model directory, None if it has none.

    Raises:
        ModelError: if the file is damaged or of another width.
    """
    if not has_alignment(directory):
        return None
    path = directory / NAME
    from dialtools.encoder.weights import fill, read_tensors

    layer = alignment_layer(dimension)
    fill(layer, read_tensors(path), where=path)
    return layer.eval()

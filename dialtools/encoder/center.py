"""The centre of a model: a vector that is taken off its unit vectors, which are scaled again then.

In the model's folder it is sentence-transformers' module `Dense` between two of `Normalize`, whose
matrix is the identity and whose bias is minus the centre, so that others embed alike. D dimensions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dialtools.encoder.arrays import read_arrays
from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.sidefile import SideFile, write_json
from dialtools.encoder.stated import BY_HAND
from dialtools.errors import ModelError

MATRIX, BIAS = "linear.weight", "linear.bias"
IDENTITY = "torch.nn.modules.linear.Identity"
EQUAL = 1e-6
"""By which the mean of unit vectors is shorter than 1 at least, if they are not all the same."""


def dense_config(dimension: int, activation: str) -> dict[str, Any]:
    """Return what sentence-transformers states of a module `Dense` that keeps dimensions."""
    sizes = {"in_features": dimension, "out_features": dimension}
    return {**sizes, "bias": True, "activation_function": activation}


def read_center(folder: Path, dimension: int) -> np.ndarray:
    """Return the (D,) float32 centre of a model from the folder of its module.

    Raises:
        ModelError: if the module is damaged, or does something else.
    """
    activation = SideFile.read(folder / "config.json").text("activation_function")
    tensors = read_arrays(folder / WEIGHTS)
    if (
        activation != IDENTITY
        or tensors.keys() != {MATRIX, BIAS}
        or not np.array_equal(tensors[MATRIX], np.eye(dimension))
        or tensors[BIAS].shape != (dimension,)
        or not np.isfinite(tensors[BIAS]).all()
    ):
        message = f"does more to vectors of {dimension} dimensions than to take a centre off"
        raise ModelError(message, where=folder, hint=BY_HAND)
    return -tensors[BIAS].astype(np.float32)


def write_center(center_D: np.ndarray, folder: Path) -> None:
    """Write the module of a centre into a folder that exists."""
    from safetensors.numpy import save_file

    dimension = len(center_D)
    write_json(folder / "config.json", dense_config(dimension, IDENTITY))
    tensors = {MATRIX: np.eye(dimension, dtype=np.float32), BIAS: -center_D.astype(np.float32)}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})

"""Weights from safetensors files as arrays, without torch if NumPy has their types."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dialtools.errors import ModelError
from dialtools.shown import first_line


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a safetensors file; what NumPy has no type for (bfloat16) is float32.

    Raises:
        ModelError: if it is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"damaged weights: {first_line(error)}", where=path) from None
    except (KeyError, TypeError, AttributeError):
        from dialtools.encoder.weights import read_tensors

        return {
            name: (value.float() if value.is_floating_point() else value).numpy()
            for name, value in read_tensors(path).items()
        }

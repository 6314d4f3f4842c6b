"""Weights from safetensors files as arrays, without torch if NumPy has their types."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dialtools.errors import ModelError
from dialtools.shown import first_line
from dialtools.streams.bytesio import open_file


def refused(path: Path, error: Exception) -> ModelError:
    """Return what is told of weights that safetensors refuses.

    Raises:
        DataError: if the file may not be read, of which safetensors says that it is not there.
    """
    open_file(path).close()
    return ModelError(f"damaged weights: {first_line(error)}", where=path)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a safetensors file; what NumPy has no type for (bfloat16) is float32.

    Raises:
        ModelError: if it is damaged.
        DataError: if it cannot be opened.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise refused(path, error) from None
    except (KeyError, TypeError, AttributeError):
        from dialtools.encoder.weights import read_tensors

        return {
            name: (value.float() if value.is_floating_point() else value).numpy()
            for name, value in read_tensors(path).items()
        }

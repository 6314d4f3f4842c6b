"""Weights in safetensors, read and written one tensor at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.weights import Shape, opened
from dialtools.errors import ModelError

PARTS = "model-*-of-*.safetensors"
ALIGNED = 8
"""Bytes: where the header of a safetensors file ends."""


class Tensors:
    """The weights in a folder.

    Attributes:
        shapes: of each tensor, by name.
    """

    def __init__(self, folder: Path) -> None:
        """Read the headers.

        Raises:
            ModelError: if there are no weights, or if they are damaged.
        """
        self.shapes: dict[str, Shape] = {}
        self._files: dict[str, Any] = {}
        for path in _files(folder):
            file, shapes = opened(path)
            self.shapes |= shapes
            self._files |= dict.fromkeys(shapes, file)

    def read(self, name: str) -> Tensor:
        return self._files[name].get_tensor(name)

    def digest(self, token_weights: bytes) -> str:
        """Return 64 bits of all weights, in hex: those of `Encoder.digest`.

        Args:
            token_weights: what tokens weigh in an average, if not all weigh alike.
        """
        total = blake2b(digest_size=8)
        for name in sorted(self.shapes):
            total.update(name.encode())
            total.update(as_bytes(self.read(name)))
        total.update(token_weights)
        return total.hexdigest()


def _files(folder: Path) -> list[Path]:
    """Return the files of weights, in one file or in parts."""
    whole = folder / WEIGHTS
    paths = [whole] if whole.is_file() else sorted(folder.glob(PARTS))
    if not paths:
        raise ModelError(
            f"no {WEIGHTS}", where=folder, hint="weights are read from safetensors alone"
        )
    return paths


def write(path: Path, shapes: dict[str, Shape], tensors: Callable[[str], Tensor]) -> None:
    """Write a safetensors file, one tensor in memory at a time, in the bytes of the library's own.

    Args:
        shapes: of all tensors; the numbers of a kind are contiguous.
        tensors: called for each name in turn.
    """
    widths = {name: _width(shape) for name, shape in shapes.items()}
    # the library's order: wide numbers first, so that each begins at a multiple of its size
    names = sorted(shapes, key=lambda name: (-widths[name], name))
    header = _header(names, shapes, widths)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for name in names:
            file.write(as_bytes(tensors(name)))


def _header(names: Iterable[str], shapes: dict[str, Shape], widths: dict[str, int]) -> bytes:
    table: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name in names:
        begin, end = end, end + widths[name] * math.prod(shapes[name].sizes)
        kind, sizes = shapes[name]
        table[name] = {"dtype": kind, "shape": sizes, "data_offsets": [begin, end]}
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % ALIGNED)


def _width(shape: Shape) -> int:
    """Return the bytes of one number."""
    digits = "".join(filter(str.isdigit, shape.kind.partition("_")[0]))
    return int(digits) // 8 if digits else 1


def as_bytes(tensor: Tensor) -> Any:
    """Return the numbers of a tensor as bytes."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy()

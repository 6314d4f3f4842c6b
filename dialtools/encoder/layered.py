"""Poolings of more than the last layer's tokens, as sentence-transformers' modules: what stands
beside `Pooling` in a model directory, and whether it is what the model itself would do.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dialtools.encoder.catalog import POOLINGS
from dialtools.encoder.center import dense_config
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.stated import LAYERS, POOLER
from dialtools.encoder.weights import read_tensors
from dialtools.errors import ModelError


def beside_pooling(encoder: Encoder) -> Iterator[tuple[str, dict[str, Any], dict[str, Tensor]]]:
    """Yield kind, configuration and weights of the modules that a pooling needs beside itself."""
    pooling, dimension = POOLINGS[encoder.pooling], encoder.dimension
    if pooling.layers:
        depth = encoder.backbone.config.num_hidden_layers
        weights = torch.zeros(depth + 1)
        weights[list(pooling.layers)] = 1
        sizes = {"word_embedding_dimension": dimension, "num_hidden_layers": depth}
        yield LAYERS, sizes | {"layer_start": 0}, {"layer_weights": weights}
    if pooling.pooler:
        config = dense_config(dimension, "torch.nn.modules.activation.Tanh")
        state = encoder.backbone.pooler.dense.state_dict()
        yield POOLER, config, {f"linear.{k}": v.cpu().contiguous() for k, v in state.items()}


def check_beside(encoder: Encoder, folder: Path, modules: dict[str, str]) -> None:
    """Refuse modules beside the pooling that do something else than the encoder does.

    Raises:
        ModelError: naming the file.
    """
    for kind, _, expected in beside_pooling(encoder):
        if kind not in modules:
            continue
        path = folder / modules[kind] / WEIGHTS
        found = read_tensors(path)
        if found.keys() != expected.keys() or not all(
            torch.equal(found[name], value) for name, value in expected.items()
        ):
            message = f"other weights than those of --pooling {encoder.pooling}"
            raise ModelError(message, where=path)

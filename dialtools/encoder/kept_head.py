"""Heads kept in the model directory beside the encoder: head.safetensors.

Each has a name: the window size whose pairs it is for, or `shared`. A head is a row of layers; the
file's metadata tells their kinds, {"shared": ["linear", "relu", "linear"]}, its tensors are called
`shared.0.weight` and so on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from torch import Tensor, nn

from dialtools.encoder.weights import fill, read_tensors
from dialtools.errors import ConfigError, ModelError
from dialtools.shown import listed, quoted

NAME = "head.safetensors"
SCHEMA = "dialtools.head/1"
SHARED = "shared"
"""The name of a head that is for all pairs."""
BARE: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}
"""Layers without weights."""


def save_heads(heads: Mapping[str, nn.Module], directory: Path) -> None:
    """Write heads into a model directory."""
    from safetensors.torch import save_file

    rows = {
        name: head if isinstance(head, nn.Sequential) else nn.Sequential(head)
        for name, head in heads.items()
    }
    tensors = {
        f"{name}.{key}": value.cpu().contiguous()
        for name, row in rows.items()
        for key, value in row.state_dict().items()
    }
    kinds = {name: [type(layer).__name__.lower() for layer in row] for name, row in rows.items()}
    about = json.dumps({"schema": SCHEMA, "heads": kinds})
    save_file(tensors, directory / NAME, metadata={"dialtools": about})


def load_head(directory: Path, name: str) -> nn.Module:
    """Return a head of a model directory.

    Raises:
        ConfigError: if there is none of that name. ModelError: if the file is damaged.
    """
    path = directory / NAME
    if not path.is_file():
        raise ConfigError(
            f"--head {name}: {directory} has no head", hint="dial-train --keep-head keeps it"
        )
    tensors = read_tensors(path)
    kinds = _kinds(path)
    if name not in kinds:
        raise ConfigError(f"--head {quoted(name)}: there are {listed(kinds)}", where=path)
    own = {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}
    head = nn.Sequential(*(_layer(kind, i, own, path) for i, kind in enumerate(kinds[name])))
    fill(head, own, where=path)
    return head.eval().requires_grad_(False)


def _layer(kind: str, place: int, tensors: Mapping[str, Tensor], path: Path) -> nn.Module:
    """Return a layer of a kind, of the sizes that its weights have."""
    if kind in BARE:
        return BARE[kind]()
    weight = tensors.get(f"{place}.weight")
    if kind != "linear" or weight is None or weight.dim() != 2:
        raise ModelError(f"layer {place} is none that is known: {quoted(kind)}", where=path)
    outputs, inputs = weight.shape
    return nn.Linear(inputs, outputs, bias=f"{place}.bias" in tensors)


def _kinds(path: Path) -> dict[str, list[str]]:
    """Return the kinds of the layers of each head.

    Raises:
        ModelError: if the file does not tell them.
    """
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        told = (file.metadata() or {}).get("dialtools", "")
    try:
        facts: Any = orjson.loads(told)
        if facts["schema"] == SCHEMA:
            return {name: [str(kind) for kind in row] for name, row in facts["heads"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    raise ModelError("does not tell the layers of its heads", where=path)

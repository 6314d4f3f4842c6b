"""Checkpoints: weights and optimiser as safetensors, position as JSON; no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from dialtools.streams.atomic import atomic_file
from dialtools.train.loop import Trainer

FILE = "checkpoint.safetensors"
BEST = "best.safetensors"
# What stands before the name of each tensor. An objective's parameters are those of its head.
ENCODER = "encoder."
OBJECTIVE = "head."
OPTIMISER = "optimiser."


def save(trainer: Trainer, directory: Path, *, facts: Mapping[str, Any]) -> None:
    """Write a checkpoint in one rename.

    Args:
        facts: JSON values to find again on resume.
    """
    tensors = _named(ENCODER, trainer.encoder.backbone.state_dict())
    tensors |= _named(OBJECTIVE, trainer.objective.state_dict())
    for number, state in trainer.optimiser.state_dict()["state"].items():
        tensors |= _named(f"{OPTIMISER}{number}.", state)
    metadata = {"facts": json.dumps(facts), "step": str(trainer.step)}
    _write(directory / FILE, tensors, metadata)


def restore(trainer: Trainer, directory: Path) -> dict[str, Any] | None:
    """Bring a trainer to the state of the checkpoint; return its facts, or None without one."""
    path = directory / FILE
    if not path.is_file():
        return None
    tensors = load_file(path)
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    trainer.encoder.backbone.load_state_dict(_under(ENCODER, tensors))
    trainer.objective.load_state_dict(_under(OBJECTIVE, tensors))
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in _under(OPTIMISER, tensors).items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    groups = trainer.optimiser.state_dict()["param_groups"]
    trainer.optimiser.load_state_dict({"state": state, "param_groups": groups})
    trainer.step = int(metadata["step"])
    return json.loads(metadata["facts"])


def save_best(trainer: Trainer, directory: Path) -> None:
    """Keep the encoder as it is now, as the best so far."""
    _write(directory / BEST, trainer.encoder.backbone.state_dict(), {})


def load_best(trainer: Trainer, directory: Path) -> None:
    """Give the encoder the weights of the best validation, if one was kept."""
    path = directory / BEST
    if path.is_file():
        trainer.encoder.backbone.load_state_dict(load_file(path))


def _write(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> None:
    # safetensors takes no views, nor two names for one memory: tied weights are copied
    copies = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    with atomic_file(path, overwrite=True) as temporary:
        save_file(copies, temporary, metadata=metadata)


def _named(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}{name}": value for name, value in tensors.items()}


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }

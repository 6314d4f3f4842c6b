"""Checkpoints: weights and optimiser as safetensors, position as JSON; no pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from dialtools.encoder.device import settled_precision
from dialtools.errors import ConfigError
from dialtools.streams.atomic import atomic_file
from dialtools.train.loop import Trainer
from dialtools.train.options import NOT_IN_FINGERPRINT, TrainOptions

FILE = "checkpoint.safetensors"


def save(trainer: Trainer, directory: Path, *, facts: dict[str, Any]) -> None:
    """Write a checkpoint in one rename.

    Args:
        facts: JSON values to find again on resume.
    """
    tensors = {f"encoder.{k}": v for k, v in trainer.encoder.backbone.state_dict().items()}
    tensors |= {f"head.{k}": v for k, v in trainer.objective.state_dict().items()}
    state = trainer.optimiser.state_dict()["state"]
    tensors |= {f"optimiser.{i}.{k}": v for i, values in state.items() for k, v in values.items()}
    about = {"facts": json.dumps(facts), "step": str(trainer.step)}
    with atomic_file(directory / FILE, overwrite=True) as path:
        save_file(
            {k: v.detach().cpu().contiguous().clone() for k, v in tensors.items()},
            path,
            metadata=about,
        )


def restore(trainer: Trainer, directory: Path) -> dict[str, Any] | None:
    """Bring a trainer to the state of the checkpoint; return its facts, or None if there is none."""
    path = directory / FILE
    if not path.is_file():
        return None
    from safetensors import safe_open

    tensors = load_file(path)
    with safe_open(path, "pt") as file:
        about = file.metadata()
    trainer.encoder.backbone.load_state_dict(_under("encoder.", tensors))
    trainer.objective.load_state_dict(_under("head.", tensors))
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in _under("optimiser.", tensors).items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    trainer.optimiser.load_state_dict(
        {"state": state, "param_groups": trainer.optimiser.state_dict()["param_groups"]}
    )
    trainer.step = int(about["step"])
    return json.loads(about["facts"])


def save_best(trainer: Trainer, directory: Path) -> None:
    """Keep the encoder as it is now, as the best so far."""
    with atomic_file(directory / "best.safetensors", overwrite=True) as path:
        save_file(
            {
                k: v.detach().cpu().contiguous().clone()
                for k, v in trainer.encoder.backbone.state_dict().items()
            },
            path,
        )


def load_best(trainer: Trainer, directory: Path) -> None:
    """Give the encoder the weights of the best validation, if one was kept."""
    path = directory / "best.safetensors"
    if path.is_file():
        trainer.encoder.backbone.load_state_dict(load_file(path))


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def fingerprint(options: TrainOptions) -> dict[str, Any]:
    """Return the options that a resumed run must share with the one it goes on from."""
    values = {k: v for k, v in vars(options).items() if k not in NOT_IN_FINGERPRINT}
    return json.loads(json.dumps(values | {"precision": settled_precision(options)}))


def check_same(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise ConfigError naming the options that changed since the run began."""
    changed = [
        f"--{k.replace('_', '-')} was {before.get(k)}, is {now.get(k)}"
        for k in now
        if before.get(k) != now.get(k)
    ]
    if changed:
        raise ConfigError(
            f"cannot resume: {'; '.join(changed)}",
            hint="run it as it was, or start over with --overwrite",
        )

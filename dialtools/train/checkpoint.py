"""Checkpoints: weights and optimiser as safetensors, position as JSON; no pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from dialtools.encoder.weights import fill, read_tensors
from dialtools.errors import ModelError
from dialtools.shown import first_line
from dialtools.streams import checksums
from dialtools.streams.atomic import atomic_file
from dialtools.streams.job_files import damaged
from dialtools.train.loop import Trainer

FILE = "checkpoint.safetensors"
BEST = "best.safetensors"
# What stands before the name of each tensor. An objective's parameters are those of its head.
ENCODER = "encoder."
OBJECTIVE = "head."
OPTIMISER = "optimiser."
AVERAGE = "average."


def save(trainer: Trainer, directory: Path, *, facts: Mapping[str, Any]) -> None:
    """Write a checkpoint in one rename.

    Args:
        facts: JSON values to find again on resume.
    """
    tensors = _learnt(trainer) | _named(AVERAGE, trainer.saved.average)
    for number, state in trainer.optimiser.state_dict()["state"].items():
        tensors |= _named(f"{OPTIMISER}{number}.", state)
    metadata = {"facts": json.dumps(facts), "step": str(trainer.step)}
    _write(directory / FILE, tensors, metadata)


def restore(trainer: Trainer, directory: Path) -> dict[str, Any] | None:
    """Bring a trainer to the state of the checkpoint; return its facts, or None without one.

    Raises:
        ModelError: if it cannot be read, or is of another model. OutputError: if it is damaged.
    """
    path = directory / FILE
    if not path.is_file():
        return None
    tensors, metadata = _read(path)
    _fill(trainer, tensors, where=path)
    state: dict[int, dict[str, Tensor]] = {}
    try:
        for key, value in _under(OPTIMISER, tensors).items():
            number, _, name = key.partition(".")
            # the file is mapped into memory, and an optimiser keeps the tensors that it is given:
            # without a copy it would work on, and in, a file that the next checkpoint replaces
            state.setdefault(int(number), {})[name] = value.clone()
        groups = trainer.optimiser.state_dict()["param_groups"]
        trainer.saved.restore(_under(AVERAGE, tensors))
        trainer.optimiser.load_state_dict({"state": state, "param_groups": groups})
        trainer.step = int(metadata["step"])
        return json.loads(metadata["facts"])
    except (KeyError, ValueError) as error:
        message = f"not the checkpoint of this run: {first_line(error)}"
        raise ModelError(message, where=path) from None


def save_best(trainer: Trainer, directory: Path, *, facts: Mapping[str, Any]) -> None:
    """Keep the encoder and what is trained with it as they are now, as the best so far.

    Args:
        facts: JSON values that belong to these weights: a run that is killed before its next
            checkpoint may not come to the same ones again.
    """
    _write(directory / BEST, _learnt(trainer), {"facts": json.dumps(facts)})


def best_facts(directory: Path) -> dict[str, Any] | None:
    """Return what was said of the best weights so far, or None if none were kept.

    Raises:
        ModelError: if they cannot be read. OutputError: if they were damaged since.
    """
    path = directory / BEST
    return json.loads(_read(path)[1]["facts"]) if path.is_file() else None


def load_best(trainer: Trainer, directory: Path) -> None:
    """Go back to the weights of the best validation, if some were kept."""
    path = directory / BEST
    if path.is_file():
        _fill(trainer, _read(path)[0], where=path)


def _learnt(trainer: Trainer) -> dict[str, Tensor]:
    """Return what is learnt, by name."""
    return _named(ENCODER, trainer.encoder.backbone.state_dict()) | _named(
        OBJECTIVE, trainer.objective.state_dict()
    )


def _fill(trainer: Trainer, tensors: Mapping[str, Tensor], *, where: Path) -> None:
    fill(trainer.encoder.backbone, _under(ENCODER, tensors), where=where)
    fill(trainer.objective, _under(OBJECTIVE, tensors), where=where)


def _write(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> None:
    # safetensors takes no views, nor two names for one memory: tied weights are copied
    copies = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    metadata = {**metadata, checksums.KIND: _checksum(copies, metadata)}
    with atomic_file(path, overwrite=True) as temporary:
        save_file(copies, temporary, metadata=metadata)


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return tensors and metadata as `_write` wrote them.

    Raises:
        ModelError: if it cannot be read. OutputError: if it was damaged since.
    """
    tensors = read_tensors(path)
    with safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
    if metadata.pop(checksums.KIND, "") != _checksum(tensors, metadata):
        raise damaged(path)
    return tensors, metadata


def _checksum(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    return f"{checksums.of_blocks(_content(tensors, metadata)):08x}"


def _content(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> Iterator[bytes | memoryview]:
    yield json.dumps(metadata, sort_keys=True).encode()
    for name, value in sorted(tensors.items()):
        yield f"{name} {value.dtype} {[*value.shape]}".encode()
        yield value.reshape(-1).view(torch.uint8).numpy().data


def _named(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}{name}": value for name, value in tensors.items()}


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }

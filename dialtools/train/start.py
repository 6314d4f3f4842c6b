"""Which kind of encoder a run trains: a table of vectors, or a transformer. Loads no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialtools.encoder.stated import is_static

STATIC, TRANSFORMER = "static", "transformer"
KINDS = (STATIC, TRANSFORMER)


def encoder_kind(chosen: Mapping[str, Any], *, contextual: bool) -> str:
    """Return what is chosen; else what --model is; else what this machine trains in minutes.

    Args:
        chosen: values of options by TOML key.
        contextual: words are learnt in their context, which a static encoder does not see.
    """
    if chosen.get("encoder"):
        return chosen["encoder"]
    if chosen.get("model"):
        return STATIC if is_table(chosen["model"]) else TRANSFORMER
    if contextual or chosen.get("layers") or _has_gpu(chosen.get("device") or "auto"):
        return TRANSFORMER
    return STATIC


def is_table(model: str) -> bool:
    """Tell whether a model is a static encoder, or a file of word vectors."""
    path = Path(model)
    return path.is_file() or (path.is_dir() and is_static(path))


def _has_gpu(device: str) -> bool:
    if device != "auto":
        return device != "cpu"
    import torch

    return torch.cuda.is_available()

"""Which kind of encoder a run trains: a table of vectors, or a transformer. Loads no torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STATIC, TRANSFORMER = "static", "transformer"
KINDS = (STATIC, TRANSFORMER)
DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/nvmap")
"""One of them is there on Linux where a GPU can be used: of Nvidia, AMD, in WSL, on a Jetson."""


def encoder_kind(chosen: Mapping[str, Any], *, contextual: bool) -> str:
    """Return what is chosen; else what --model is; else what this machine trains in minutes.

    Args:
        chosen: values of options by TOML key.
        contextual: words are learnt in their context, which a static encoder does not see.
    """
    if chosen.get("encoder") in KINDS:  # what is none is told where options are read
        return chosen["encoder"]
    if isinstance(chosen.get("model"), str) and chosen["model"]:
        return STATIC if is_table(chosen["model"]) else TRANSFORMER
    if contextual or chosen.get("layers") or _has_gpu(chosen.get("device") or "auto"):
        return TRANSFORMER
    return STATIC


def is_table(model: str) -> bool:
    """Tell whether a model is a static encoder, or a file of word vectors."""
    from dialtools.encoder.stated import is_static

    path = Path(model)
    return path.is_file() or (path.is_dir() and is_static(path))


def _has_gpu(device: str) -> bool:
    if device != "auto":
        return device != "cpu"
    if not _has_driver():
        return False
    from dialtools.encoder.guest import start_torch

    start_torch(None)
    import torch

    return torch.cuda.is_available()


def _has_driver() -> bool:
    """Tell whether there may be a GPU, without torch, which takes seconds to ask."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    if sys.platform == "linux":
        return any(map(os.path.exists, DRIVERS))
    return sys.platform != "darwin"

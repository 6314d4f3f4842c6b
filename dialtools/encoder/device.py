"""Where to compute, and in what precision."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from dialtools.encoder.options import DeviceOptions
from dialtools.errors import ConfigError
from dialtools.shown import first_line

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
X86 = ("x86_64", "AMD64")
NARROW = ("DEFAULT", "AVX2")
"""What torch calls the abilities of such processors as emulate bfloat16."""


def choose_device(name: str) -> torch.device:
    """Return the device for `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.

    Raises:
        ConfigError: if it is not there.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = first_line(error)
        raise ConfigError(f"--device {name}: not available here ({reason})") from None
    return device


def choose_precision(name: str, device: torch.device) -> str:
    """Return float32 or bfloat16; `auto` is bfloat16 on CUDA, float32 elsewhere."""
    if name != "auto":
        return name
    return "bfloat16" if device.type == "cuda" else "float32"


def settled_device(options: DeviceOptions) -> tuple[torch.device, str]:
    """Return the device and the precision that some options come to on this machine.

    Raises:
        ConfigError: if the device is not there.
    """
    device = choose_device(options.device)
    return device, choose_precision(options.precision, device)


def settled_precision(options: DeviceOptions) -> str:
    """Return the precision of `settled_device`, which a resumed run must share."""
    return settled_device(options)[1]


def slower_precision(options: DeviceOptions) -> str:
    """Return what to tell of a precision that this processor emulates; nothing of others."""
    device, precision = settled_device(options)
    narrow = platform.machine() in X86 and torch.backends.cpu.get_cpu_capability() in NARROW
    if precision == "float32" or not (device.type == "cpu" and narrow):
        return ""
    return "this processor emulates bfloat16: --precision float32 is many times as fast"


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Return the context in which the encoder runs."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, DTYPES[precision])


def together(tensors: Sequence[Tensor], device: torch.device) -> list[Tensor]:
    """Return int64 tensors of one dimension on a device, by one copy; a GPU is not waited for.

    Pinning memory is slow: one copy pins once.
    """
    return list(moved(torch.cat(list(tensors)), device).split([len(x) for x in tensors]))


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor on a device, without waiting for a GPU."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)

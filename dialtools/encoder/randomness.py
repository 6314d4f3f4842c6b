"""Torch's random numbers, on the CPU and on a device: seeded for a while, then drawn on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

CPU = torch.device("cpu")


@contextmanager
def seeded(seed: int, device: torch.device = CPU) -> Iterator[None]:
    """Draw from `seed` inside; what draws afterwards goes on as if nothing had been drawn.

    From the CPU's generator, and the device's own if it is another.
    """
    module = None if device.type == "cpu" else torch.get_device_module(device)
    named = () if device.type == "mps" else (device,)  # of mps there is one, without a name
    of_cpu, own = torch.get_rng_state(), module and module.get_rng_state(*named)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(of_cpu)
        if module:
            module.set_rng_state(own, *named)

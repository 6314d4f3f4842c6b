"""Torch's random numbers, on the CPU and on a device: seeded for a while, kept, drawn again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

CPU = torch.device("cpu")


def random_state(device: torch.device) -> list[Tensor]:
    """Return the states of the generators that work on `device` draws from.

    They are the CPU's, and the device's own if it is another.
    """
    states = [torch.get_rng_state()]
    if device.type != "cpu":
        states.append(torch.get_device_module(device).get_rng_state(*_named(device)))
    return states


def set_random_state(device: torch.device, state: list[Tensor]) -> None:
    """Draw on from `state`."""
    torch.set_rng_state(state[0])
    for device_state in state[1:]:
        torch.get_device_module(device).set_rng_state(device_state, *_named(device))


@contextmanager
def seeded(seed: int, device: torch.device = CPU) -> Iterator[None]:
    """Draw from `seed` inside; what draws afterwards goes on as if nothing had been drawn."""
    state = random_state(device)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        set_random_state(device, state)


def _named(device: torch.device) -> tuple[torch.device, ...]:
    """Return the device as an argument; of mps there is one, and torch.mps takes no name of it."""
    return () if device.type == "mps" else (device,)

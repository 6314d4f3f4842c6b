"""How long a job of steps will take on this machine, from the time that its first steps take."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from dialtools.shown import duration
from dialtools.streams.tally import counted

LONG_STEP = 5.0  # seconds: one such step tells enough
ENOUGH_SECONDS = 2.0  # of steps after the first, or
ENOUGH_STEPS = 10  # so many of them
HOUR = 3600
HOPELESS = 3 * HOUR  # seconds of a CPU that are warned of


def place(device: torch.device) -> str:
    """Return what computes, in words: how many threads, or which device."""
    return counted(torch.get_num_threads(), "thread") if device.type == "cpu" else str(device)


@dataclass
class Forecast:
    """The time that the rest of a run takes.

    Attributes:
        steps: left to take.
        place: what computes, in words.
        validations: left to make.
        validation_seconds: of each.
        measured: seconds of the steps that tell. Of several the first is no part of it: it waits
            for its batch, and for libraries to settle.
    """

    steps: int
    place: str
    validations: int = 0
    validation_seconds: float = 0.0
    measured: list[float] = field(default_factory=list)

    def note(self, seconds: float) -> bool:
        """Note the time of a step; tell whether it is the one that completes the forecast."""
        if self.ready:
            return False
        self.measured.append(seconds)
        return self.ready

    @property
    def ready(self) -> bool:
        """Whether enough steps were measured to tell of the others."""
        first, *rest = self.measured or [0.0]
        return first > LONG_STEP or sum(rest) > ENOUGH_SECONDS or len(rest) >= ENOUGH_STEPS

    @property
    def each(self) -> float:
        """Seconds of a step."""
        steps = self.measured[1:] or self.measured
        return sum(steps) / max(1, len(steps))

    @property
    def seconds(self) -> float:
        """Seconds of all steps and validations."""
        return self.steps * self.each + self.validations * self.validation_seconds

    def __str__(self) -> str:
        each = f"{self.each:.2g} s" if self.each < 10 else duration(self.each)
        parts = [f"{counted(self.steps, 'step')} of {each}"]
        if self.validations and self.validation_seconds:
            each = duration(max(1, self.validation_seconds))
            parts.append(f"{counted(self.validations, 'validation')} of {each}")
        return f"about {duration(max(1, self.seconds))}: {', '.join(parts)} on {self.place}"

    def hopeless(self, device: torch.device) -> bool:
        """Tell whether it takes over three hours of a CPU."""
        return device.type == "cpu" and self.seconds > HOPELESS

"""How long a run will take on this machine, from the time that its own first steps take."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from dialtools.encoder.static import StaticEncoder
from dialtools.shown import duration
from dialtools.streams.tally import counted
from dialtools.train.loop import Trainer
from dialtools.train.options import TrainOptions, objective_entry

LONG_STEP = 5.0  # seconds: one such step tells enough
ENOUGH_SECONDS = 2.0  # of steps after the first, or
ENOUGH_STEPS = 10  # so many of them
HOUR = 3600
HOPELESS = 3 * HOUR  # seconds of a CPU that are warned of


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

    @classmethod
    def of(cls, trainer: Trainer, *, validations: int) -> Forecast:
        """Return the forecast of a run as it begins, or goes on."""
        device, threads = trainer.encoder.device, torch.get_num_threads()
        place = counted(threads, "thread") if device.type == "cpu" else str(device)
        return cls(trainer.total - trainer.step, place, validations)

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


def instead(forecast: Forecast, trainer: Trainer, options: TrainOptions) -> str:
    """Return what to do instead of a run of over three hours of a CPU; nothing of a shorter one."""
    if trainer.encoder.device.type != "cpu" or forecast.seconds <= HOPELESS:
        return ""
    ways = [f"--max-steps {max(1, int(HOUR / forecast.each))} takes an hour"]
    if not (isinstance(trainer.encoder, StaticEncoder) or objective_entry(options).contextual):
        ways.insert(0, "--encoder static trains in minutes")
    ways.append("a GPU is many times as fast")
    return f"{duration(forecast.seconds)} of a CPU; {', '.join(ways)}"

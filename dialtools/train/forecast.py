"""How long a run will take on this machine, and what is quicker."""

from __future__ import annotations

from dialtools.encoder.forecast import HOUR, Forecast, place
from dialtools.encoder.static import StaticEncoder
from dialtools.shown import duration
from dialtools.train.loop import Trainer
from dialtools.train.options import TrainOptions, hyperparameters, objective_entry

SHORT_BATCH, SHORT_RATE, SHORT_STEPS = 64, "3e-5", 150
"""The short run of which results tell what it buys."""


def forecast_of(trainer: Trainer, *, validations: int) -> Forecast:
    """Return the forecast of a run as it begins, or goes on."""
    return Forecast(trainer.total - trainer.step, place(trainer.encoder.device), validations)


def instead(forecast: Forecast, trainer: Trainer, options: TrainOptions) -> str:
    """Return what to do instead of a run of over three hours of a CPU; nothing of a shorter one."""
    if not forecast.hopeless(trainer.encoder.device):
        return ""
    ways = [_shorter(forecast, options)]
    if not (isinstance(trainer.encoder, StaticEncoder) or objective_entry(options).contextual):
        ways.insert(0, "--encoder static trains in minutes")
    ways.append("a GPU is many times as fast")
    return f"{duration(forecast.seconds)} of a CPU; {', '.join(ways)}"


def _shorter(forecast: Forecast, options: TrainOptions) -> str:
    """Return a run that is worth its while: from a pretrained start one of docs/which-method.md."""
    batch = hyperparameters(options).batch_size
    if not options.model or batch <= SHORT_BATCH:
        return f"--max-steps {max(1, int(HOUR / forecast.each))} takes an hour"
    seconds = SHORT_STEPS * forecast.each * SHORT_BATCH / batch
    short = f"--batch-size {SHORT_BATCH} --lr {SHORT_RATE} --max-steps {SHORT_STEPS}"
    return f"{short} takes {duration(seconds)}"

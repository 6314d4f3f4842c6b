"""What a job of fine-tuning would do and how long it takes, told before it is done."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from dialtools.encoder.forecast import Forecast, place
from dialtools.finetune.job import Runs
from dialtools.finetune.task import Task
from dialtools.finetune.tune import Tuner, drawn, idle, open_encoder, schedule_of
from dialtools.shown import duration
from dialtools.streams.tally import counted

INSTEAD = "fewer --runs, --shots or --epochs take less, a GPU is many times as fast"


def plan(task: Task[Any], options: Any, caution: Callable[[str], None]) -> dict[str, str]:
    """Take a few steps of the first model that lead nowhere, and return the plan in lines by names.

    Args:
        caution: is given what speaks against the job, a line at a time.
    """
    tuner = Tuner(task, open_encoder(options.model[0], task))
    forecast = Forecast(0, place(tuner.device))
    each = tuner.time_steps(forecast, max(options.shots))
    tested = 0  # rows, in validations and tests
    for shots in options.shots:
        if note := idle(task, shots):
            caution(note)
        few = drawn(task, shots, options.seed)
        schedule = schedule_of(options, len(few.train))
        steps = schedule.per_epoch * schedule.epochs
        validations = ceil(steps / schedule.between)
        forecast.steps += steps * options.runs * len(options.model)
        forecast.validations += (validations + 1) * options.runs * len(options.model)
        rows = validations * len(few.val) + len(task.test.truth)
        tested += rows * options.runs * len(options.model)
    forecast.validation_seconds = each * tested / forecast.validations
    if forecast.hopeless(tuner.device):
        caution(f"{duration(forecast.seconds)} of a CPU at most; {INSTEAD}")
    models = counted(len(options.model), "model")
    shots = f"{' and '.join(map(str, options.shots))} shot{'s' * (options.shots != (1,))}"
    runs = f"{Runs.count(options):,}: {models}, {shots}, {options.runs:,} of each"
    return {
        "rows": f"{len(task.train.truth):,} to learn from, {task.tested:,} to be tested on",
        "runs": runs,
        "time": f"{forecast}, if no run ends early",
    }

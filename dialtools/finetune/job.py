"""Fine-tuning as a job: each model, on each number of shots, with each seed; and its plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from dialtools.encoder.descent import beside_weights
from dialtools.encoder.device import settled_precision
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.folder import model_folder
from dialtools.encoder.forecast import Forecast, place
from dialtools.finetune.options import FinetuneOptions
from dialtools.finetune.task import Task
from dialtools.finetune.tune import Tuner, drawn, idle, open_encoder, schedule_of
from dialtools.shown import duration
from dialtools.streams.job import Job
from dialtools.streams.provenance import Inputs, describe
from dialtools.streams.resume import Piece, Work
from dialtools.streams.tally import counted

PIECES = ("model", "shots", "runs", "models")
"""What says only which runs there are: an interrupted job goes on with others."""
INSTEAD = "fewer --runs, --shots or --epochs take less, a GPU is many times as fast"


def job_of(command: str, options: FinetuneOptions) -> Job:
    """Return what a resumed job must share with the one it goes on from."""
    files = options.inputs or (str(options.train), str(options.test))
    # a seed that tells the test rows as well is no other run's
    seed = () if getattr(options, "test_share", None) else ("seed",)
    facts = {
        "precision": settled_precision(options),
        "models": [
            {**describe(str(model_folder(model))), "name": model} for model in options.model
        ],
    }
    return Job(command, options, Inputs(files), facts=facts, pieces=(*PIECES, *seed))


@dataclass(frozen=True)
class Measured:
    """One metric, over the runs of a model on a number of shots.

    Attributes:
        values: percent, of each run.
        each: what each test row adds on average over the runs; None where the metric is no mean
            over rows.
        facts: what it is a score of, as score records say it.
    """

    values: list[float]
    each: np.ndarray | None
    facts: dict[str, Any]


class Runs:
    """The runs of a job; those that are finished are taken from its working folder."""

    def __init__(
        self,
        task: Task[Any],
        options: FinetuneOptions,
        work: Work,
        *,
        tell: Callable[[str], None],
    ) -> None:
        """Take nothing yet.

        Args:
            tell: is given what the user should know, a line at a time.
        """
        self.task = task
        self.options = options
        self.work = work
        self.tell = tell
        self.results: dict[tuple[str, int], list[dict[str, Any]]] = {}

    @property
    def total(self) -> int:
        return self.count(self.options)

    @staticmethod
    def count(options: FinetuneOptions) -> int:
        """Return how many runs options ask for."""
        return len(options.model) * len(options.shots) * options.runs

    def take(self) -> Iterator[Piece]:
        """Yield each run once it is finished."""
        for note in filter(None, (idle(self.task, shots) for shots in self.options.shots)):
            self.tell(note)
        for model in self.options.model:
            yield from self._of_model(model, open_encoder(model, self.task))

    def _of_model(self, model: str, encoder: Encoder) -> Iterator[Piece]:
        # as loaded: training changes the weights
        content = f"{encoder.digest()} {beside_weights(model_folder(model))}"
        tuner = None
        seeds = range(self.options.seed, self.options.seed + self.options.runs)
        for shots in self.options.shots:
            results = self.results.setdefault((model, shots), [])
            for seed in seeds:
                key = f"{content} {shots}-shot seed {seed}"
                fresh = key not in self.work.pieces
                if fresh:
                    tuner = tuner or self._tuner(encoder)
                    self.work.add(key, vars(tuner.run(shots, seed)))
                results.append(self.work.pieces[key])
                metric, value = next(iter(results[-1]["figures"].items()))
                yield Piece(fresh, {metric: f"{value:.1f}"})

    def _tuner(self, encoder: Encoder) -> Tuner:
        tuner = Tuner(self.task, encoder)
        if self.task.cut:
            self.tell(
                f"{self.task.cut:,} of {counted(tuner.texts, 'text')} were longer than their "
                "maximal length, and cut"
            )
        return tuner

    def measured(self, dataset: str) -> Iterator[Measured]:
        """Yield each metric of each model and number of shots.

        Args:
            dataset: its name, as score records say it.
        """
        groups = self.task.groups
        for (model, shots), results in self.results.items():
            facts = {
                "task": self.task.name,
                "dataset": dataset,
                "setting": self.task.setting(shots),
                "n": self.task.tested,
                "seed": self.options.seed,
                "model": model,
                "chosen": {
                    "step": [result["chosen"] for result in results],
                    "rows": [result["rows"] for result in results],
                },
            }
            for metric in results[0]["figures"]:
                values = [result["figures"][metric] for result in results]
                each = _mean_each(results, metric)
                named = {**facts, "metric": metric, "groups": [] if each is None else groups}
                yield Measured(values, each, named)

    def mean(self, name: str) -> float:
        """Return the mean of what all runs tell under a name, those of earlier jobs too."""
        return sum(r[name] for results in self.results.values() for r in results) / self.total


def _mean_each(results: list[dict[str, Any]], metric: str) -> np.ndarray | None:
    if metric not in results[0]["each"]:
        return None
    return np.mean([result["each"][metric] for result in results], 0)


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

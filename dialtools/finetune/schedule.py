"""When a fine-tuning run is validated, what counts as better, and when it ends.

This is the protocol of DSE's evaluations (app. B.1); there is no torch here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Schedule:
    """How long a run may be, and how often it is looked at.

    Attributes:
        rows: rows to train on.
        validate_every: steps between validations; an epoch at least.
        patience: after more validations than this without a better score, the run ends with its
            epoch.
        warmup: share of the steps over which the rate rises.
    """

    rows: int
    batch_size: int
    epochs: int
    validate_every: int
    patience: int
    warmup: float

    @property
    def per_epoch(self) -> int:
        """Steps an epoch; the last batch may be smaller."""
        return math.ceil(self.rows / self.batch_size)

    @property
    def between(self) -> int:
        """Steps between validations: the first is at step 0, before any update."""
        return max(self.validate_every, self.per_epoch)

    @property
    def total(self) -> int:
        """Steps until the rate is 0.

        The reference counts full batches only: smaller last batches are steps beyond the end.
        """
        return self.rows * self.epochs // self.batch_size

    def rate(self, step: int) -> float:
        """Return the share of the highest rate at a step (0-based), as transformers' linear one."""
        rising = int(self.total * self.warmup)
        if step < rising:
            return step / rising
        return max(0.0, (self.total - step) / max(1, self.total - rising))


@dataclass
class Course:
    """How a run went.

    Attributes:
        best: the validation score of its best state.
        chosen: the step of that state.
        steps: how many it took in all.
    """

    best: float = 0.0
    chosen: int = 0
    steps: int = 0


def follow(
    schedule: Schedule,
    *,
    step: Callable[[np.ndarray, float], None],
    validate: Callable[[], float],
    keep: Callable[[], None],
    draw: np.random.Generator,
) -> Course:
    """Take the steps of a run, and return how it went; what is kept last is the best.

    A score is better only if it is higher, and the first is compared with 0: a model that never
    scores above 0 is tested as it was loaded.

    Args:
        step: takes row numbers and the share of the highest rate.
        validate: returns the validation score of the state as it is.
        keep: called when the state is the best so far.
        draw: orders the rows of each epoch.
    """
    course = Course()
    waited = 0
    for _ in range(schedule.epochs):
        order = draw.permutation(schedule.rows)
        for start in range(0, schedule.rows, schedule.batch_size):
            if course.steps % schedule.between == 0:
                waited += 1
                score = validate()
                if score > course.best:
                    course.best = score
                    course.chosen = course.steps
                    waited = 0
                    keep()
            step(order[start : start + schedule.batch_size], schedule.rate(course.steps))
            course.steps += 1
        if waited > schedule.patience:
            break
    return course

"""When a job is stopped: moments, drawn by chance, of which some are aimed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calls import Place

LOOK = 0.001  # seconds between two looks at the names of files


@dataclass(frozen=True)
class Usual:
    """What a run does that nobody stops: how long it takes, and how often its files change names.

    Attributes:
        seconds: as long as it takes here and now; corrected by each run that ends.
    """

    seconds: float
    changes: int


@dataclass
class Running:
    """A job that runs: `call` is what it can be told, `begun` when it was started."""

    call: Any
    place: Place
    begun: float
    status: int | None = None

    def until(self, moment: float) -> bool:
        """Wait for so many seconds after the start; tell whether the job still runs."""
        left = self.begun + moment - time.monotonic()
        if self.status is None:
            self.status = self.call.wait(max(0.0, left))
        return self.status is None

    def until_changes(self, count: int) -> bool:
        """Wait until names of files have come or gone so often; tell whether the job still runs."""
        before: frozenset[str] = frozenset()
        while count > 0:
            self.status = self.call.wait(LOOK)
            if self.status is not None:
                return False
            now = self.place.names()
            count -= now != before
            before = now
        return True


Moment = Callable[[Running, Usual, random.Random], bool]


def early(running: Running, usual: Usual, draw: random.Random) -> bool:
    return running.until(draw.uniform(0, 0.1))


def any_moment(running: Running, usual: Usual, draw: random.Random) -> bool:
    return running.until(draw.uniform(0, usual.seconds))


def writing(running: Running, usual: Usual, draw: random.Random) -> bool:
    """Wait until something is written, and a while longer."""
    there = running.until_changes(1)
    since = time.monotonic() - running.begun
    return there and running.until(since + draw.uniform(0, usual.seconds / 2))


def naming(running: Running, usual: Usual, draw: random.Random) -> bool:
    """Wait until a file has got or lost its name just now."""
    return running.until_changes(draw.randint(1, max(1, usual.changes)))


def ending(running: Running, usual: Usual, draw: random.Random) -> bool:
    """Wait for the last change of names, where an output gets its own, or for about the end."""
    if draw.random() < 0.5:
        return running.until_changes(usual.changes - draw.randint(0, 1))
    return running.until(usual.seconds * draw.uniform(0.85, 1.05))


MOMENTS: dict[str, Moment] = {
    "first 0.1 s": early,
    "any moment": any_moment,
    "while writing": writing,
    "a name changes": naming,
    "at the end": ending,
}
"""Each waits, and tells whether the job still ran when it was time."""
STARTING = "starting up"


def starting(running: Running, usual: Usual, draw: random.Random) -> bool:
    """Wait while an installed command imports: half a second, most often less."""
    return running.until(draw.uniform(0, 0.5) * draw.random() + 0.03)

"""Progress on stderr: a bar on a terminal, elsewhere a line at growing intervals."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from dialtools.shown import duration, printable
from dialtools.streams.tally import counted

FIRST_GAP = 10.0
"""Seconds to the first line; each gap is twice the last: a log of a long night stays short."""


class Progress(Protocol):
    """What a job tells of how far it is."""

    def advance(self, n: int = 1, **facts: object) -> None:
        """Count `n` more as done; facts such as `loss=0.3` are shown beside."""

    def skip(self, n: int) -> None:
        """Count `n` that an earlier run has done: they are no part of the pace."""


class Silence:
    """Says nothing, under --quiet."""

    def advance(self, n: int = 1, **facts: object) -> None: ...
    def skip(self, n: int) -> None: ...


class Pace:
    """How much is done, and how fast; what an earlier run did is done, but no part of the pace."""

    def __init__(self, total: int | None, unit: str) -> None:
        self.total = total
        self.unit = unit
        self.done = 0
        self.skipped = 0
        self.started = time.monotonic()

    def skip(self, n: int) -> None:
        self.done += n
        self.skipped += n

    @property
    def rate(self) -> float:
        """What is done in a second."""
        elapsed = time.monotonic() - self.started
        return (self.done - self.skipped) / max(elapsed, 1e-9)

    def __str__(self) -> str:
        before = f"{self.done:,} of " if self.total else ""
        return before + counted(self.total or self.done, self.unit.removesuffix("s"))


class Heartbeat:
    """A line after 10 s, then 20 s, 40 s, ... of the job."""

    def __init__(self, say: Callable[[str], None], pace: Pace) -> None:
        self.say = say
        self.pace = pace
        self.gap = FIRST_GAP
        self.next = pace.started + FIRST_GAP

    def skip(self, n: int) -> None:
        self.pace.skip(n)

    def advance(self, n: int = 1, **facts: object) -> None:
        self.pace.done += n
        now = time.monotonic()
        if now < self.next:
            return
        self.gap *= 2
        self.next = now + self.gap
        self.say(f"{self.pace} ({', '.join(self._details(facts))})")

    def _details(self, facts: dict[str, object]) -> Iterator[str]:
        rate = self.pace.rate
        yield f"{duration(1 / rate)} each" if 0 < rate < 1 else f"{rate:,.0f}/s"
        if self.pace.total and rate:
            yield f"{duration((self.pace.total - self.pace.done) / rate)} left"
        yield from (f"{key} {value}" for key, value in facts.items())


class _Stdout(io.RawIOBase):
    """Stdout, with something to be done before anything is written."""

    def __init__(self, before: Callable[[], None]) -> None:
        self.below = sys.stdout.buffer
        self.before = before

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self.below.isatty()

    def fileno(self) -> int:
        return self.below.fileno()

    def write(self, data: Any, /) -> int:
        self.before()
        written = self.below.write(data)
        self.below.flush()
        return written


@contextmanager
def before_data(act: Callable[[], None]) -> Iterator[None]:
    """Act before data come to a terminal, which may be the one that a bar is drawn on."""
    stdout = sys.stdout
    if not stdout.isatty():
        yield
        return
    buffer = io.BufferedWriter(_Stdout(act))
    sys.stdout = io.TextIOWrapper(buffer, stdout.encoding, stdout.errors, line_buffering=True)
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout.detach()  # it would close what stdout writes to
        buffer.detach()
        sys.stdout = stdout


@contextmanager
def bar(name: str, pace: Pace) -> Iterator[Progress]:
    """Show a bar on stderr, which goes when the job is done, or when its data come to a terminal.

    Without a total, only the count is shown.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    status = TextColumn("{task.fields[status]}", markup=False)
    columns = [BarColumn(), status, TimeRemainingColumn()] if pace.total else [status]
    console = Console(stderr=True)
    with (
        RichProgress(
            TextColumn(name), *columns, console=console, transient=True, redirect_stdout=False
        ) as shown,
        before_data(shown.stop),
    ):
        task = shown.add_task(name, total=pace.total, status=str(pace))

        class Bar:
            def advance(self, n: int = 1, **facts: object) -> None:
                pace.done += n
                rate = f"{pace.rate:,.0f}/s" if pace.rate >= 1 else ""
                words = [str(pace), rate, *(f"{key} {value}" for key, value in facts.items())]
                shown.update(
                    task, completed=pace.done, status=printable("  ".join(filter(None, words)))
                )

            def skip(self, n: int) -> None:
                pace.skip(n)
                shown.reset(
                    task, completed=pace.done
                )  # so that the time left is of this run's pace

        yield Bar()

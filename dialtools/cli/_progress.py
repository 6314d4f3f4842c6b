"""Progress on stderr: a bar on a terminal, elsewhere a line at growing intervals."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dialtools.shown import duration, printable
from dialtools.streams.tally import given

FIRST_GAP = 10.0
"""Seconds to the first line; each gap is twice the last: a log of a long night stays short."""


class Progress:
    """How much of a job is done, and how fast; by itself it says nothing, as under --quiet."""

    def __init__(self, total: int | None, unit: str) -> None:
        self.total = total
        self.unit = unit
        self.done = 0
        self.skipped = 0
        self.started = time.monotonic()

    def advance(self, n: int = 1, **facts: object) -> None:
        """Count `n` more as done; facts such as `loss=0.3` are shown beside."""
        self.done += n

    def skip(self, n: int) -> None:
        """Count `n` that an earlier run has done: they are no part of the pace."""
        self.done += n
        self.skipped += n

    @property
    def rate(self) -> float:
        """What is done in a second."""
        elapsed = time.monotonic() - self.started
        return (self.done - self.skipped) / max(elapsed, 1e-9)

    def __str__(self) -> str:
        before = f"{self.done:,} of " if self.total else ""
        return before + given(self.total or self.done, self.unit)


class Heartbeat(Progress):
    """A line after 10 s, then 20 s, 40 s, ... of the job."""

    def __init__(self, say: Callable[[str], None], total: int | None, unit: str) -> None:
        super().__init__(total, unit)
        self.say = say
        self.gap = FIRST_GAP
        self.next = self.started + FIRST_GAP

    def advance(self, n: int = 1, **facts: object) -> None:
        super().advance(n)
        now = time.monotonic()
        if now < self.next:
            return
        self.gap *= 2
        self.next = now + self.gap
        self.say(f"{self} ({', '.join(self._details(facts))})")

    def _details(self, facts: dict[str, object]) -> Iterator[str]:
        rate = self.rate
        yield f"{duration(1 / rate)} each" if 0 < rate < 1 else f"{rate:,.0f}/s"
        if self.total and rate:
            yield f"{duration((self.total - self.done) / rate)} left"
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
def bar(name: str, total: int | None, unit: str) -> Iterator[Progress]:
    """Show a bar on stderr, which goes when the job is done, or when its data come to a terminal.

    Without a total, only the count is shown.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    status = TextColumn("{task.fields[status]}", markup=False)
    columns = [BarColumn(), status, TimeRemainingColumn()] if total else [status]
    console = Console(stderr=True)
    with (
        RichProgress(
            TextColumn(name), *columns, console=console, transient=True, redirect_stdout=False
        ) as shown,
        before_data(shown.stop),
    ):

        class Bar(Progress):
            def advance(self, n: int = 1, **facts: object) -> None:
                super().advance(n)
                rate = f"{self.rate:,.0f}/s" if self.rate >= 1 else ""
                words = [str(self), rate, *(f"{key} {value}" for key, value in facts.items())]
                status = printable("  ".join(filter(None, words)))
                shown.update(task, completed=self.done, status=status)

            def skip(self, n: int) -> None:
                super().skip(n)  # the time left is of this run's pace
                shown.reset(task, completed=self.done)

        progress = Bar(total, unit)
        task = shown.add_task(name, total=total, status=str(progress))
        yield progress

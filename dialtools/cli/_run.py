"""One run of a command: progress, the closing line, interruption, provenance."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn

from dialtools.errors import ExitCode
from dialtools.options import Spec


class Run:
    """What a command may tell its user, and what the user may tell it."""

    def __init__(
        self, name: str, options: Any, all_specs: Sequence[Spec], origins: dict[str, str]
    ) -> None:
        from dialtools.streams.provenance import Inputs

        self.name, self.options, self.specs = name, options, all_specs
        self.inputs = Inputs(getattr(options, "inputs", ()))
        self.origins = origins
        self.skipped = 0
        self.started = time.monotonic()
        self.signal: int | None = None

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stderr.flush()

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.SKIPPED if self.skipped else ExitCode.OK

    @property
    def quiet(self) -> bool:
        return bool(getattr(self.options, "quiet", False))

    @property
    def colored(self) -> bool:
        """Whether a report on stdout may be coloured."""
        return wants_color(getattr(self.options, "color", "auto"), sys.stdout)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def warn(self, line: str) -> None:
        """Say what the user should know, unless -q."""
        if not self.quiet:
            sys.stderr.write(f"{self.name}: {line}\n")

    def info(self, line: str) -> None:
        """Say more, under -v only."""
        if getattr(self.options, "verbose", False):
            self.warn(line)

    def close(self, line: str) -> None:
        """Say the one closing line, with the time it took."""
        self.warn(f"{line} ({self.seconds:.1f} s)")

    def tell_plan(self, lines: dict[str, str]) -> None:
        """Print what --dry-run found, a line each."""
        width = max(map(len, lines))
        sys.stdout.write("".join(f"{name:<{width}}  {what}\n" for name, what in lines.items()))
        self.close("dry run: nothing was written")

    def resolved(self) -> dict[str, Any]:
        """Return every option by its TOML key."""
        return {s.key: getattr(self.options, s.name) for s in self.specs if not s.positional}

    def provenance(self, counts: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what made the output: version, argv, options, inputs, counts."""
        from dialtools.streams.provenance import provenance

        return provenance(
            command=self.name, options=self.options, inputs=self.inputs, counts=counts
        )

    def config(self) -> str:
        """Return the resolved options as TOML, each with where its value came from."""
        from dialtools.cli._help import toml

        return toml(self.specs, self.options, self.origins)

    @contextmanager
    def graceful(self) -> Iterator[None]:
        """Turn the first SIGINT or SIGTERM into `stop_requested`; a second one ends the run at once."""
        before = {
            number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, _frame: object) -> None:
        if self.signal is not None:
            sys.exit(128 + number)
        self.signal = number

    @property
    def stop_requested(self) -> bool:
        return self.signal is not None

    def interrupted(self) -> NoReturn:
        """End the run with the status of the signal that asked for it."""
        sys.exit(128 + (self.signal or signal.SIGINT))

    @contextmanager
    def progress(self, total: int | None, unit: str) -> Iterator[Any]:
        """Show progress on stderr: a bar on a terminal, else a heartbeat line at growing intervals.

        Yields:
            an object with `advance(n, **facts)`, and `skip(n)` for what an earlier run has done.
        """
        if self.quiet:
            yield _Silence()
        elif sys.stderr.isatty():
            with _bar(self.name, total, unit) as bar:
                yield bar
        else:
            yield _Heartbeat(self, total, unit)


class _Silence:
    def advance(self, n: int = 1, **facts: object) -> None: ...
    def skip(self, n: int) -> None: ...


class _Heartbeat:
    """A line after 10 s, then 20 s, 40 s, … so that a log of a long night stays short."""

    def __init__(self, run: Run, total: int | None, unit: str) -> None:
        self.run, self.total, self.unit = run, total, unit
        self.done, self.skipped, self.started, self.gap = 0, 0, time.monotonic(), 10.0
        self.next = self.started + self.gap

    def skip(self, n: int) -> None:
        self.done, self.skipped = self.done + n, self.skipped + n

    def advance(self, n: int = 1, **facts: object) -> None:
        self.done += n
        now = time.monotonic()
        if now < self.next:
            return
        self.gap *= 2
        self.next = now + self.gap
        rate = (self.done - self.skipped) / (now - self.started)
        of = f" of {self.total:,}" if self.total else ""
        left = f", {duration((self.total - self.done) / rate)} left" if self.total and rate else ""
        told = "".join(f", {key} {value}" for key, value in facts.items())
        pace = f"{duration(1 / rate)} each" if 0 < rate < 1 else f"{rate:,.0f}/s"
        self.run.warn(f"{self.done:,}{of} {self.unit} ({pace}{left}{told})")


@contextmanager
def _bar(name: str, total: int | None, unit: str) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    told = TextColumn("{task.fields[told]}")
    columns = (
        [TextColumn(name), BarColumn(), told, TimeRemainingColumn()]
        if total
        else [TextColumn(name), told]
    )
    of = f" of {total:,}" if total else ""
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        started = time.monotonic()
        task, done, skipped = progress.add_task(name, total=total, told=f"0{of} {unit}"), 0, 0

        class Bar:
            def advance(self, n: int = 1, **facts: object) -> None:
                nonlocal done
                done += n
                rate = (done - skipped) / max(time.monotonic() - started, 1e-9)
                pace = f"{rate:,.0f}/s" if rate >= 1 else ""
                about = "  ".join(
                    filter(
                        None,
                        (
                            f"{done:,}{of} {unit}",
                            pace,
                            *(f"{key} {value}" for key, value in facts.items()),
                        ),
                    )
                )
                progress.update(task, completed=done, told=about)

            def skip(self, n: int) -> None:
                nonlocal done, skipped
                done, skipped = done + n, skipped + n
                progress.reset(task, completed=done)  # so that the rate is that of this run

        yield Bar()


def duration(seconds: float) -> str:
    """Return a time that a person reads at a glance: `40 s`, `12 min`, `3.1 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def wants_color(choice: str, stream: Any) -> bool:
    """Decide on colour: --color, else a terminal without NO_COLOR and not TERM=dumb."""
    import os

    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

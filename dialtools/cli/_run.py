"""One run of a command: what it tells its user, how it is interrupted, what made its output."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from dialtools.cli import _signals
from dialtools.cli._progress import Heartbeat, Progress, bar
from dialtools.errors import ExitCode
from dialtools.options import Spec
from dialtools.shown import LONGEST, printable
from dialtools.streams.tally import counted

if TYPE_CHECKING:
    from dialtools.streams.job import Job
    from dialtools.streams.policy import Policy
    from dialtools.streams.resume import Work
    from dialtools.streams.shards import Shard


class Run:
    """What a command may tell its user, and what the user may tell it.

    Attributes:
        skipped: bad records left out; they are in the closing line, and make the exit status 3.
    """

    def __init__(
        self, name: str, options: Any, all_specs: Sequence[Spec], origins: dict[str, str]
    ) -> None:
        from dialtools.streams.provenance import Inputs

        self.name = name
        self.options = options
        self.specs = all_specs
        self.part: Shard | None = getattr(options, "part", None)
        self.inputs = Inputs(getattr(options, "inputs", ()))
        self.origins = origins
        self.skipped = 0
        self.started = time.monotonic()
        self.signal: int | None = None

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.SKIPPED if self.skipped else ExitCode.OK

    @property
    def quiet(self) -> bool:
        return bool(getattr(self.options, "quiet", False))

    @property
    def dry(self) -> bool:
        """Whether --dry-run is given."""
        return bool(getattr(self.options, "dry_run", False))

    def colored_on(self, stream: TextIO) -> bool:
        """Decide on colour: --color, else a terminal without NO_COLOR and not TERM=dumb."""
        choice = getattr(self.options, "color", "auto")
        if choice != "auto":
            return choice == "always"
        dumb = os.environ.get("TERM") == "dumb"
        return stream.isatty() and not os.environ.get("NO_COLOR") and not dumb

    def warn(self, line: str) -> None:
        """Say what the user should know, unless -q."""
        if not self.quiet:
            self._say(line)

    def caution(self, line: str) -> None:
        """Say, under -q too, that a run is hardly worth its time, or its result worth having."""
        self._say(f"warning: {line}")

    def _say(self, line: str) -> None:
        with suppress(OSError):  # a run does not fail for want of a listener
            sys.stderr.write(f"{_fresh_line()}{self.name}: {printable(line, LONGEST)}\n")

    def info(self, line: str) -> None:
        """Say more, under -v only."""
        if getattr(self.options, "verbose", False):
            self.warn(line)

    @contextmanager
    def policy(self) -> Iterator[Policy]:
        """Open the policy of --on-error; what it skips is told by `close` and the exit status.

        Under --dry-run nothing is put aside.
        """
        from dialtools.streams.policy import Policy

        with Policy(self.options.on_error, dry=self.dry, tell=self.warn) as policy:
            yield policy
        self.skipped = policy.skipped

    @contextmanager
    def watching_stdin(self, files: Sequence[str]) -> Iterator[None]:
        """Note size and digest of what is read of stdin in this block, if it is among the files."""
        if "-" not in files:
            yield
            return
        from dialtools.streams.digests import hashed_stdin

        with hashed_stdin() as stdin:
            yield
        self.inputs.note_stdin(stdin.content())

    def tell_path(self, path: object) -> None:
        """Print where the output is, but to one who has closed stdout: nobody asks for it there."""
        if sys.__stdout__ is not None:
            print(path)

    def close(self, *facts: str) -> None:
        """Say the one closing line: what came of the run, the bad records skipped, the time.

        Args:
            facts: e.g. `Tally.line("pair", " from 12 dialogues")`; empty ones are left out.
        """
        skipped = f"{counted(self.skipped, 'bad record')} skipped" if self.skipped else ""
        seconds = time.monotonic() - self.started
        self.warn(f"{'; '.join(filter(None, (*facts, skipped)))} ({seconds:.1f} s)")

    def tell_plan(self, lines: Mapping[str, str]) -> None:
        """Print what --dry-run found, a line each, and close.

        Args:
            lines: what the command tells beside the files that it reads, writes and replaces.
        """
        from dialtools.cli._outputs import plan

        lines = plan(self.options, self.specs, lines)
        width = max(map(len, lines))
        for name, what in lines.items():
            sys.stdout.write(printable(f"{name:<{width}}  {what}") + "\n")
        self.close("dry run: nothing was written")

    def provenance(self, counts: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what made the output: version, argv, options, inputs, counts; of a part, which."""
        from dialtools.streams.job import Job
        from dialtools.streams.provenance import provenance

        facts = provenance(
            command=self.name, options=self.options, inputs=self.inputs, counts=counts
        )
        for shard in self.part_facts().values():
            facts["shard"] = {**shard, "files": Job(self.name, self.options, self.inputs).files()}
        return facts

    def write(self, payloads: Iterable[Any], kind: str, counts: dict[str, Any]) -> None:
        """Write what a format has to -o, and into a table what made it."""
        from dialtools.streams.formats import FORMATS
        from dialtools.streams.provenance import as_metadata
        from dialtools.streams.sinks import writer

        path, overwrite = self.options.output, self.options.overwrite
        metadata = {} if FORMATS[kind].lines else as_metadata(self.provenance(counts))
        with writer(path, format=kind, overwrite=overwrite, metadata=metadata) as write:
            for payload in payloads:
                write(payload)

    def claim(self, job: Job) -> Work:
        """Return the claim of the working folder of -o, for `with`; see `streams.resume`."""
        from dialtools.streams.resume import Work

        options = self.options
        return Work(
            options.output,
            job,
            resume=options.resume,
            overwrite=options.overwrite,
            tell=self.warn,
        )

    def part_facts(self) -> dict[str, Any]:
        """Return which part of the work this run does; nothing if it does all."""
        part = self.part
        return {"shard": {"part": part.number, "of": part.of}} if part else {}

    def cut_inputs(self) -> None:
        """Note that of the inputs only those of this run's part are read."""
        if self.part is None:
            return
        from dialtools.streams.parts import unfolded
        from dialtools.streams.spans import spans

        read = {path for path, _ in spans(unfolded(self.inputs.paths), self.part)}
        files = filter(os.path.isfile, self.inputs.paths)
        self.inputs.unread = {path for path in files if path not in read}

    def config(self) -> str:
        """Return the resolved options as TOML, each with where its value came from.

        Those that only say how a run met what an earlier one left are not of the next run.
        """
        from dialtools.cli._help import toml

        lasting = [spec for spec in self.specs if spec.name not in ("resume", "overwrite")]
        return toml(lasting, self.options, self.origins)

    @contextmanager
    def graceful(self, piece: str) -> Iterator[None]:
        """Turn the first SIGINT, SIGTERM or SIGHUP into `stop_requested`; a second ends the run.

        Args:
            piece: what is finished first, as the user is told.
        """
        before = {
            number: signal.signal(number, partial(self._note, piece))
            for number in _signals.heeded()
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, piece: str, number: int, _frame: object) -> None:
        if self.signal is not None:
            _signals.end(number)
        self.signal = number
        if not self.quiet:  # a stream that was being written to may not be entered again
            line = f"{self.name}: finishing this {piece}; a second signal ends at once\n"
            with suppress(OSError):
                os.write(sys.stderr.fileno(), line.encode())

    @property
    def stop_requested(self) -> bool:
        return self.signal is not None

    def interrupted(self) -> NoReturn:
        """End the run by the signal that asked for it."""
        _signals.end(self.signal or signal.SIGINT)

    @contextmanager
    def progress(self, total: int | None, unit: str) -> Iterator[Progress]:
        """Show progress on stderr: a bar on a terminal, else a heartbeat line at growing intervals.

        A command that writes into a pipe shows no bar: who reads it may draw on the same terminal.

        Yields:
            an object with `advance(n, **facts)`, and `skip(n)` for what an earlier run has done.
        """
        if self.quiet:
            yield Progress(total, unit)
        elif sys.stderr.isatty() and not _is_pipe(sys.stdout):
            with bar(self.name, total, unit) as shown:
                yield shown
        else:
            yield Heartbeat(self.warn, total, unit)


def _fresh_line() -> str:
    """Return what clears a bar that the reader of our pipe may have drawn on the same terminal."""
    shared = sys.stderr.isatty() and _is_pipe(sys.stdout) and os.environ.get("TERM") != "dumb"
    return "\r\x1b[K" if shared else ""


def _is_pipe(stream: TextIO) -> bool:
    return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)

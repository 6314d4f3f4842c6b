"""--engine ray: the parts of a command, done by the actors of a cluster into one folder.

Each part is what `--shard I/N` makes, by the same function, made in a scratch folder of the machine
that does it and then given its name: twice is as good as once, and a part that is there is not done
again. The driver, which the user has started, reads no records.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialtools import errors
from dialtools.cli._exit import as_dial_error
from dialtools.cli._progress import Progress
from dialtools.cli._run import Run
from dialtools.streams.options import PARTS
from dialtools.streams.shards import Shard
from dialtools.streams.tally import counted

if TYPE_CHECKING:
    from dialtools.cli._command import Command
    from dialtools.engine.folder import Folder
    from dialtools.streams.parts import Part

LOST = """ended from outside; Ray does so where the cluster is gone, or its part on this machine
  what is done stays: the same line does the rest"""


@dataclass(frozen=True)
class Assignment:
    """What every actor is told.

    Attributes:
        command: `module:attribute` of it.
        argv: of the driver, which parts tell as what made them.
        directory: where the driver runs, and its inputs are named from.
    """

    command: str
    options: Any
    of: int
    argv: list[str]
    directory: str

    def part(self, number: int, output: str) -> Any:
        """Return the options of a part."""
        return replace(
            self.options,
            engine="local",
            parts=None,
            workers=None,
            address=None,
            shard=f"{number}/{self.of}",
            output=output,
            overwrite=False,
        )


def spread(command: Command, options: Any, run: Run) -> None:
    """Let a cluster do the parts that are not there yet.

    Raises:
        DialError: what the first part that fails tells.
    """
    from dialtools.engine.folder import Done, Folder
    from dialtools.engine.quiet import quiet
    from dialtools.streams.parts import part_of, whole

    of = options.parts or PARTS
    mine = _mine(options, run, of)
    folder = Folder(options.output, of)
    if options.overwrite:
        folder.clear()
    done = folder.done(mine)
    missing = [number for number in range(1, of + 1) if number not in done]
    before = len(done)
    with quiet(debug=options.debug), run.progress(of, "parts") as progress:
        progress.skip(before)
        for told in _results(command, options, run, folder, missing):
            number = told["part"]
            part = part_of(folder.file(number), told["facts"])
            assert part is not None
            done[number] = Done(part, told["rows"])
            run.skipped += told["skipped"]
            for line in told["said"]:
                run.warn(f"part {number} of {of}: {line}")
            progress.advance(1)
    whole([one.part for one in done.values()], where=options.output)
    rows = [one.rows for one in done.values()]
    run.close(
        f"{counted(sum(rows), 'row')} in {counted(of, 'part')}",
        f"{before:,} of them done before" if before else "",
        f"{rows.count(0):,} of them empty" if 0 in rows else "",
    )


def _mine(options: Any, run: Run, of: int) -> Part:
    """Return what parts of this job tell, but for the digests of what they read."""
    from dialtools.corpora.unpacked import size
    from dialtools.streams.bytesio import own_name
    from dialtools.streams.parts import Part

    run.part = Shard(1, of)
    run.inputs.unread = run.inputs.paths
    inputs = [
        {"name": own_name(path), "bytes": size(path, options.from_)} for path in options.inputs
    ]
    return Part(options.output, {**run.provenance(), "inputs": inputs})


def _results(
    command: Command, options: Any, run: Run, folder: Folder, missing: list[int]
) -> Generator[dict[str, Any]]:
    from dialtools.engine.last_words import last_words
    from dialtools.engine.pool import Pool

    if not missing:
        return
    pool = Pool(
        address=options.address,
        workers=options.workers,
        cores=getattr(options, "threads", None) or 1,
        encodes=getattr(options, "device", "cpu") != "cpu",
        debug=options.debug,
        tell=run.warn,
    )
    name = f"{command.function.__module__}:main"
    job = Assignment(name, options, folder.of, sys.argv, str(Path.cwd()))
    with last_words(f"{run.name}: {LOST}"):
        for told in pool.results(Parts, job, missing):
            if failed := told.get("failed"):
                if options.debug:
                    run.caution(failed.pop("traceback"))
                raise getattr(errors, failed["kind"])(
                    failed["message"], where=failed["where"], hint=failed["hint"]
                )
            yield told


class Parts:
    """What an actor does, one part after another, with the model of the first."""

    def __init__(self, job: Assignment) -> None:
        from dialtools.catalog import load
        from dialtools.engine.folder import Folder
        from dialtools.streams import bounds

        if Path(job.directory).is_dir():
            os.chdir(job.directory)
        sys.argv = job.argv
        bounds.use(job.options.bounds)
        self.job = job
        self.command: Command = load(job.command)
        self.folder = Folder(job.options.output, job.of)

    def __call__(self, number: int) -> dict[str, Any]:
        """Do a part; return what it tells, or what has failed."""
        try:
            return self._do(number)
        except Exception as error:
            told = as_dial_error(error)
            failed = {
                "kind": next(c.__name__ for c in type(told).__mro__ if hasattr(errors, c.__name__)),
                "message": told.message,
                "where": told.where,
                "hint": told.hint,
                "traceback": traceback.format_exc(),
            }
            return {"part": number, "failed": failed}

    def _do(self, number: int) -> dict[str, Any]:
        import pyarrow.parquet as pq

        from dialtools.corpora.unpacked import at_hand
        from dialtools.streams.job_files import job_of_output
        from dialtools.streams.remote import scratch, send
        from dialtools.streams.together import before_outputs

        with scratch() as folder:
            file = folder / "part.parquet"
            options = at_hand(self.job.part(number, str(file)), folder)
            run = _PartRun(self.command.name, options, self.command.specs, {})
            with before_outputs(run.inputs.check_if_told):
                self.command.function(options, run)
            facts, rows = job_of_output(file), pq.read_metadata(file).num_rows
            send(file, self.folder.file(number))
        return {
            "part": number,
            "facts": facts,
            "rows": rows,
            "skipped": run.skipped,
            "said": run.said,
        }


class _PartRun(Run):
    """A run whose words go to the driver."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.said: list[str] = []

    def _say(self, line: str) -> None:
        self.said.append(line)

    def close(self, *facts: str) -> None:
        """Say nothing: the driver closes."""

    @contextmanager
    def progress(self, total: int | None, unit: str) -> Generator[Progress]:
        yield Progress(total, unit)

    @contextmanager
    def graceful(self, piece: str) -> Generator[None]:
        """Leave signals to Ray."""
        yield

"""One way to take up a long job again: its identity, its working folder, its finished pieces.

A command that can be resumed claims the work, and asks it:

    job = Job(run.name, options, Inputs(options.inputs), facts={"weights": encoder.digest()})
    with Work(options.output, job, resume=options.resume, overwrite=options.overwrite) as work:
        if work.finished:
            return run.close(work.finished)              # one line, exit status 0
        for key in wanted:
            if key not in work.pieces:
                work.add(key, compute(key), skipped=n)   # on the disk when `add` returns
        run.skipped = work.skipped                       # of this run and of those it goes on from
        metadata = as_metadata(job.provenance(counts))
        write(options.output, work.pieces, overwrite=work.overwrite, metadata=metadata)
        work.finish()                                    # the output is written: the folder goes

**The job** is every option that changes the result (`option(..., how=True)` marks those that do
not), the inputs by size and digest, each other file that an option names (metavar FILE) likewise,
and `facts`: what else decides, such as the digest of weights or the precision that `auto` came to.
Keys in `pieces` are options that only say which pieces there are (--shots, --runs): an interrupted
job may go on with others, a finished one is another job with others. Inputs are compared by
content and order, not by name.

**The folder** is `OUTPUT.partial`, made with its manifest `job.json` in one rename, and locked
while a run works there. Beside `job.json`, `lock` and `pieces.jsonl` lies what the command makes:
parts, stores, checkpoints go to `work.folder / name`, and `Job.makes` has patterns of their names.
`.*.tmp` and `.*.old` are scraps of interrupted writing (`atomic_file`, `atomic_directory`),
removed by the next claim. Nothing else is ever removed: what somebody puts there stays, and a
folder of that name without a manifest of ours is not ours, whatever the flags. A run that fails
removes the folder only if it made it and nothing but scraps is in it.

**The finished output** tells its job by its provenance: a model directory in `dialtools.json`,
Parquet and Arrow in their metadata. Others (JSONL, npy) have it beside them, in `OUTPUT.job.json`,
together with the output's own digest, so that it never speaks for another file. It is written just
before the output gets its name: a run that is killed between the two has an output yet to write.

| OUTPUT.partial | OUTPUT | neither flag | --resume | --overwrite |
|---|---|---|---|---|
| - | - | begins | begins | begins |
| same job | any | refused, 1 | goes on | starts over |
| other options | any | refused, 1 | refused, 2 | starts over |
| other inputs | any | refused, 1 | refused, 1 | starts over |
| - | same job | refused, 1 | "finished", 0 | starts over |
| - | other job, or untold | refused, 1 | refused, 1 | starts over |
| another run in it | any | refused, 1 | refused, 1 | refused, 1 |
| not ours | any | refused, 1 | refused, 1 | refused, 1 |

A run that began with --overwrite may be resumed without it, and replaces the output as it was
allowed to. Stdout, devices and pipes have nothing beside them: pieces are kept in memory,
`work.folder` is a temporary folder, --resume of stdout is a usage error.

**Stdin** is known by content once it is read. Wrap the reading in `hashed_stdin()` and hand what
it saw to `work.note_stdin(seen.content())`, with `keep=True` if no later run needs to read it
again (a spool that is finished): from then on --resume compares what stdin brings with what was
read, and takes an empty stdin for "as it was". A job that reads stdin again on resume binds its
pieces to what they were made of, and asks `work.expect`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from dialtools import __version__
from dialtools.errors import ConfigError, OutputError
from dialtools.shown import cut
from dialtools.streams.atomic import (
    check_kind,
    check_parent,
    is_special,
    refuse_existing,
    witnessed,
)
from dialtools.streams.full import naming
from dialtools.streams.job import Job, changes
from dialtools.streams.job_files import (
    LOCK,
    MANIFEST,
    PIECES,
    SCRAPS,
    add_piece,
    beside,
    job_of_output,
    read_manifest,
    read_pieces,
    remove,
    write_beside,
    write_manifest,
)
from dialtools.streams.locks import Lock
from dialtools.streams.provenance import read_provenance
from dialtools.streams.scraps import WORKING, clear_scraps, removed_at_the_end, temporary_folder
from dialtools.streams.together import name_now


class Piece(NamedTuple):
    """A finished piece: whether this run has made it, and what progress shows of it."""

    fresh: bool
    facts: Mapping[str, str] = {}


class Work:
    """A claimed working folder: what is finished of a job, and room for what is being made.

    Attributes:
        folder: where the parts of the job lie.
        pieces: what is finished, by key.
        finished: the line that tells that the output is there already, or "".
        resumed: whether this run goes on from another.
        overwrite: whether the output may be replaced in the end.
        skipped: bad records of the finished pieces, those of earlier runs among them.
        tell: is given what the user should know, a line at a time.
        kept: whether anything outlasts this run; stdout, devices and pipes keep nothing.
    """

    def __init__(
        self,
        output: str,
        job: Job,
        *,
        resume: bool,
        overwrite: bool,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Say what is to be claimed, which the block does (`with`); see the module's docstring.

        Raises:
            ConfigError: if both flags are given, or stdout is to be resumed.
        """
        if resume and overwrite:
            raise ConfigError("--resume goes on, --overwrite starts over: give one")
        if resume and output == "-":
            raise ConfigError("--resume needs -o FILE; stdout cannot be resumed")
        self.job = job
        self.tell = tell
        self.resume = resume
        self.overwrite = overwrite
        self.kept = output != "-" and not is_special(output)
        self.final = Path(output)
        self.folder = self.final.with_name(f"{self.final.name}{WORKING}")
        self.pieces: dict[str, Any] = {}
        self.skipped = 0
        self.finished = ""
        self.resumed = False
        self._lock: Lock | None = None
        self._scratch = ExitStack()

    def __enter__(self) -> Work:
        """Claim the folder; until the block ends, what its disk refuses is told with its name.

        Raises:
            OutputError: if another run is at work there, or what is there may be neither gone on
                with nor replaced, or a directory is to stand where a file or a device is.
            ConfigError: if an interrupted job had other options.
        """
        where = "stdout" if str(self.final) == "-" else self.final
        with naming(where):
            self._scratch.enter_context(naming(where))
            self._claim()
        return self

    def _claim(self) -> None:
        if str(self.final) != "-":
            check_kind(self.final, directory=self.job.directory)
        if not self.kept:
            self.folder = self._scratch.enter_context(temporary_folder())
            return
        check_parent(self.final)
        clear_scraps(self.folder)
        try:
            if not (self.resume and self.folder.exists()):
                self._check_output()
            if not self.finished:
                self._open()
                tells = witnessed(self.final, beside(self.final), self._tell_beside)
                self._scratch.enter_context(tells)
        except BaseException:
            self._release()
            raise

    def __exit__(self, *error: Any) -> None:
        try:
            self._scratch.__exit__(*error)
        finally:
            if error[0] is not None and self._is_new:
                with suppress(OSError):  # what ends the run is told, not what comes of it
                    if self.folder.is_dir() and not self.holds:
                        remove(self.folder)
            self._release()

    def add(self, key: str, value: Any, *, skipped: int = 0) -> None:
        """Keep a finished piece: a JSON value, on the disk when this returns.

        Args:
            skipped: bad records that were left out of it.
        """
        self.pieces[key] = value
        self.skipped += skipped
        if self.kept:
            add_piece(self.folder, key, value, skipped=skipped)

    def discard(self) -> None:
        """Remove the folder of a run that failed before anything was learnt that is worth keeping.

        What an earlier run has left stays.
        """
        if self._is_new:
            self._clear()

    @property
    def _is_new(self) -> bool:
        """Whether this run has made the folder."""
        return self._lock is not None and not self.resumed

    @property
    def holds(self) -> bool:
        """Whether there is more in the folder than what tells of the job, and scraps."""
        made = (path for path in self.folder.iterdir() if not path.name.startswith("."))
        names = {path.name for path in made if path.is_dir() or path.stat().st_size}
        return not names <= {MANIFEST, LOCK}

    def expect(self, name: str, before: Any, now: Any) -> None:
        """Check that a finished piece was made of what is read now.

        Raises:
            OutputError: if not.
        """
        if before != now:
            raise self._changed_input(f"{name} was made of other records than are read now")

    def note_stdin(self, content: Mapping[str, Any], *, keep: bool = False) -> None:
        """Take over what was read of stdin, for provenance; with `keep` for the manifest too."""
        self.job.inputs.note_stdin(content)
        if keep and self.kept:
            write_manifest(self.folder, self.job, overwrite=self.overwrite)

    def finish(self) -> None:
        """Remove the folder: the output is written, and tells its job.

        A folder that stays is told, and fails no run: all that was asked for is there.
        """
        if not self.kept:
            return
        name_now(self.final)
        if read_provenance(self.final) is not None:
            # a file of another kind may have been replaced, which had its job beside it
            beside(self.final).unlink(missing_ok=True)
        try:
            self._clear()
        except OSError as error:
            self.tell(f"{self.folder}: cannot be removed: {error.strerror}")

    def _tell_beside(self, written: Path) -> None:
        """Write OUTPUT.job.json for an output without metadata, before it gets its name."""
        if read_provenance(written) is None:
            write_beside(self.final, written, self.job.provenance())

    def _changed_input(self, what: str) -> OutputError:
        hint = "--overwrite starts over with what is there now; another -o leaves this as it is"
        return OutputError(f"cannot resume: {what}", where=self.folder, hint=hint)

    def _open(self) -> None:
        """Go on in the folder that is there, or make one."""
        while True:
            if self.folder.exists() or self.folder.is_symlink():
                with suppress(FileNotFoundError):  # the other run ended just now
                    self._enter()
            if self._lock or self.finished or self._make():
                return

    def _enter(self) -> None:
        """Lock the folder that is there, and take it up, or remove it.

        Raises:
            OutputError: if it is not ours, another run is in it, or it may be neither gone on
                with nor replaced.
            ConfigError: if it is that of another job.
        """
        manifest = read_manifest(self.folder)
        self._lock = Lock(self.folder / LOCK)
        if self.resume:
            self._compare(manifest)
            self._take_up(manifest)
        elif self.overwrite:
            self._clear(but=LOCK)
            if self.folder.exists():
                write_manifest(self.folder, self.job, overwrite=True)
            else:
                self._release()
        else:
            raise OutputError(
                "an interrupted run is here",
                where=self.folder,
                hint="--resume goes on, --overwrite starts over",
            )

    def _compare(self, manifest: Mapping[str, Any]) -> None:
        different = changes(manifest.get("job", {}), self.job.description(), free=self.job.pieces)
        if different.settings:
            raise ConfigError(
                f"cannot resume: {different}",
                hint="run it as it was, or start over with --overwrite",
            )
        if different.inputs:
            raise self._changed_input(str(different))

    def _take_up(self, manifest: Mapping[str, Any]) -> None:
        self.resumed = True
        begun = manifest.get("version", __version__)
        if begun != __version__:
            versions = f"dialtools {cut(str(begun))}, goes on with {__version__}"
            self.tell(f"{self.folder}: begun by {versions}: --overwrite makes all alike")
        self.overwrite = bool(manifest.get("overwrite"))
        for pattern in SCRAPS:
            for scrap in self.folder.glob(pattern):
                remove(scrap)
        self.pieces, self.skipped = read_pieces(self.folder)
        written = self.final.exists() and not self.overwrite
        if written and not self._differs_from_output():  # killed between writing and tidying up
            self.finish()
            self._tell_finished()

    def _make(self) -> bool:
        """Make the folder, locked and with its manifest, in one rename; false if it is there."""
        fresh = self.folder.with_name(f".{self.folder.name}.{os.getpid()}.tmp")
        with removed_at_the_end(fresh):
            remove(fresh)
            fresh.mkdir()
            write_manifest(fresh, self.job, overwrite=self.overwrite)
            self._lock = Lock(fresh / LOCK)
            try:
                fresh.rename(self.folder)
            except OSError:
                self._release()
                if not self.folder.exists():
                    raise
                return False
        return True

    def _differs_from_output(self) -> str:
        """Return how the job of the finished output differs from this one, or nothing."""
        before = job_of_output(self.final)
        if before is None or "options" not in before:
            return "it does not tell which"
        return str(changes(before, self.job.description()))

    def _check_output(self) -> None:
        """Look at an output that is there already.

        Raises:
            OutputError: if it is there, and neither this job's nor to be replaced.
        """
        if not self.resume or not self.final.exists():
            refuse_existing(self.final, overwrite=self.overwrite)
            return
        difference = self._differs_from_output()
        if difference:
            raise OutputError(
                f"is finished, of another job: {difference}",
                where=self.final,
                hint="--overwrite makes it anew; another -o keeps it",
            )
        self._tell_finished()

    def _tell_finished(self) -> None:
        self.finished = f"{self.final}: finished already, of the same inputs and options"

    def _release(self) -> None:
        if self._lock:
            self._lock.release()
        self._lock = None

    def _clear(self, but: str = "") -> None:
        """Remove the folder; with something of others in it, only what is ours, but one name."""
        patterns = (MANIFEST, LOCK, PIECES, *SCRAPS, *self.job.makes)
        everything = list(self.folder.iterdir())
        ours = [path for path in everything if any(path.match(pattern) for pattern in patterns)]
        if len(ours) == len(everything):
            remove(self.folder)
            return
        for path in ours:
            if path.name != but:
                remove(path)

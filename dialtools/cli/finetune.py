"""dial-eval finetune - fine-tune an encoder on a few examples, and test it

  dial-eval finetune intent --model model/ tickets.jsonl
  dial-eval finetune select --shots 100 --model model/ dstc2_acts.jsonl
  dial-eval finetune act --target current --model model/ dstc2_acts.jsonl

Reads records, not embeddings, and trains: all of the encoder and a small head,
with the state that is best on as many validation examples. Examples, schedule,
heads and lengths are those of DSE's evaluations; every one is a flag. A job is
shots times runs times models; with -o FILE each finished run is kept in
FILE.partial, and --resume repeats none.
"""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

from dialtools.catalog import Entry
from dialtools.cli._command import Command, command, group
from dialtools.cli._progress import duration
from dialtools.cli._run import Run
from dialtools.errors import GateError
from dialtools.eval.options.base import ReportOptions
from dialtools.finetune.catalog import TASKS

MEMORY = (
    "the model five times (as loaded, at its best, and its optimiser), the tokens of all records, "
    "a batch"
)


class TaskEntry(Entry):
    """A fine-tuning task, loaded as its command."""

    def load(self) -> Command:
        task = super().load()
        bases = (task.options_class, ReportOptions)
        options_class = make_dataclass(f"{task.__name__}Options", [], bases=bases)
        name = task.doc.partition(" - ")[0]
        made = command(options_class, memory=MEMORY, reads_stdin=False, name=name, doc=task.doc)
        return made(lambda options, run: evaluate(task, options, run))


def evaluate(task_class: Any, options: Any, run: Run) -> None:
    """Take the runs of a task, those of an earlier job excepted, and report their scores."""
    from dialtools.cli._torch import start_torch

    start_torch(options.threads)
    from dialtools.cli._pieces import take_pieces
    from dialtools.cli._scores import report
    from dialtools.eval.identity import identity
    from dialtools.eval.score import of_runs, shares
    from dialtools.finetune.job import Runs, job_of
    from dialtools.streams.resume import claim

    job = job_of(run.name, options)
    with claim(options.output, job, resume=options.resume, overwrite=options.overwrite) as work:
        if work.finished:
            return run.close(work.finished)
        task = task_class(options)
        runs = Runs(task, options, work, tell=run.warn)
        take_pieces(runs.take(), run, total=runs.total, unit="runs", resumable=work.kept)

        items = identity(task.columns, also=(task.label_field,))
        dataset = options.name or options.test or ", ".join(options.inputs)
        scores = [
            of_runs(
                measured.values,
                each=[] if measured.each is None else shares(measured.each),
                items=items,
                **measured.facts,
            )
            for measured in runs.measured(dataset)
        ]
        options.overwrite = work.overwrite
        try:
            report(scores, {}, options, run)
        except GateError:  # the scores are written
            work.finish()
            raise
        work.finish()

    where = "" if options.output == "-" else f"{options.output}: "
    each = f"{duration(runs.mean_seconds)} and {runs.mean_steps:,} steps each"
    run.close(f"{where}{runs.total:,} runs, {each}")


main = group(
    __doc__ or "",
    {name: TaskEntry(entry.target, entry.summary) for name, entry in TASKS.items()},
)

"""dial-eval finetune - fine-tune an encoder on a few examples, and test it

  dial-eval finetune intent --model model/ tickets.jsonl
  dial-eval finetune select --model model/ --shots 500 \\
    --train pairs.jsonl --test heldout.jsonl
  dial-eval finetune act --target current --model model/ dstc2_acts.jsonl

Reads records, not embeddings. Trains all of the encoder and a small head, and
tests the state that scores best on an equal number of validation examples.
Examples, schedule, heads and lengths are those of DSE's evaluations; each is
a flag.

The number of runs is shots times runs times models. With -o FILE each
finished run is kept in FILE.partial, and --resume repeats none of them.

Intervals are over runs and test rows; those of F1 over runs alone.
"""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Any

from dialtools.catalog import Entry
from dialtools.cli._command import Command, Group, command
from dialtools.cli._run import Run
from dialtools.eval.options.base import ReportOptions, page_of
from dialtools.finetune import TASKS
from dialtools.shown import duration
from dialtools.streams.tally import counted

if TYPE_CHECKING:
    from dialtools.eval.score import Scored
    from dialtools.finetune.job import Runs
    from dialtools.finetune.task import Items, Task

MEMORY = (
    "the model five times (as loaded, at its best, and its optimiser), the tokens of all records, "
    "a batch"
)


class TaskCommand(Entry):
    """A fine-tuning task as a command; it reports as the tasks of dial-eval do."""

    def load(self) -> Command:
        task = super().load()
        bases = (task.options_class, ReportOptions)
        options_class = make_dataclass(f"{task.__name__}Options", [], bases=bases)
        page = page_of(task.options_class)
        make = command(options_class, memory=MEMORY, reads_stdin=False, doc=page, plans=True)
        return make(lambda options, run: evaluate(task, options, run))


def evaluate(task_class: type[Task[Any]], options: Any, run: Run) -> None:
    """Take the runs of a task, those of an earlier job excepted, and report their scores."""
    from dialtools.encoder.guest import start_torch

    start_torch(options.threads)
    from dialtools.cli._pieces import finishing, take_pieces
    from dialtools.cli._scores import report, tell_finished
    from dialtools.encoder.device import slower_precision
    from dialtools.finetune.job import Runs, job_of, plan

    if run.dry:
        with run.policy() as policy:
            task = task_class(options, policy)
        return run.tell_plan(plan(task, options, run.caution))
    if note := slower_precision(options):
        run.warn(note)
    job = job_of(run.name, options)
    with run.claim(job) as work:
        if work.finished:
            return tell_finished(work.finished, options, run)
        options.overwrite = work.overwrite
        with run.policy() as policy:
            task = task_class(options, policy)
        job.settle()
        runs = Runs(task, options, work, tell=run.warn)
        take_pieces(runs.take(), run, total=runs.total, unit="runs", resumable=work.kept)
        with finishing(work):
            report(_scored(runs, options), options, run, inputs=job.inputs.described())

    where = "" if options.output == "-" else f"{options.output}: "
    each = f"{duration(runs.mean('seconds'))} and {counted(int(runs.mean('steps')), 'step')} each"
    run.close(f"{where}{counted(runs.total, 'run')}, {each}")


def _scored(runs: Runs, options: Any) -> Scored:
    """Return the scores of all runs; each names its model, for the records have no metadata.

    Args:
        options: those of the task with those of the report (`TaskCommand`).
    """
    from dialtools.eval.identity import item_digests
    from dialtools.eval.score import Scored, of_runs, shares

    items = item_digests(runs.task.columns, also=(runs.task.label_field,))
    dataset = options.name or options.test or ", ".join(options.inputs)
    scores = [
        of_runs(m.values, each=[] if m.each is None else shares(m.each), items=items, **m.facts)
        for m in runs.measured(dataset)
    ]
    return Scored(scores, metadata={}, notes=_notes(runs.task))


def _notes(task: Task[Any]) -> list[str]:
    """Return what a user should know of the rows."""
    from dialtools.corpora.fields import alike, note_on_alike
    from dialtools.eval.sanity import note_on_alone, note_on_repeated, note_on_unlearnt

    notes = note_on_repeated(*(map(_texts, (task.train, task.test))))
    notes += note_on_alike(alike(name for names in task.labels for name in names))
    notes += [note_on_unlearnt(task.unlearnt, task.tested)] if task.unlearnt else []
    return notes + ([note_on_alone(task.alone)] if task.alone else [])


def _texts(items: Items) -> list[str]:
    """Return the text of each row, its turns and sides one after the other."""
    rows = zip(*items.sides, strict=True)
    return ["\n".join(text for texts, _ in row for text in texts) for row in rows]


main = Group(
    __doc__ or "",
    {name: TaskCommand(entry.target, entry.summary) for name, entry in TASKS.items()},
)

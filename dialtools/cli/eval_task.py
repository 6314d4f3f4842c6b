"""dial-eval NAME, for every task of the catalogue: an embedding file scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dialtools.catalog import Entry
from dialtools.cli._command import Command, command
from dialtools.cli._run import Run
from dialtools.eval.options.base import protocol
from dialtools.eval.tasks.catalog import TASKS, Task


@dataclass(frozen=True)
class TaskCommand(Entry):
    """A task as a command; the target is its name in the catalogue."""

    def load(self) -> Command:
        """Return the command: the options and the page of the task, and a run that reports it."""
        task = TASKS[self.target]

        make = command(task.options_class(), memory=task.memory, doc=task.page())
        return make(lambda options, run: _run(task, options, run))


def task_commands() -> dict[str, Entry]:
    """Return the commands of all tasks by their names."""
    return {name: TaskCommand(name, task.summary) for name, task in TASKS.items()}


def _run(task: Task, options: Any, run: Run) -> None:
    """Score the rows, report the scores, check the gates."""
    from dialtools.cli._scores import closing_line, report

    evaluate = task.load()
    with run.watching_stdin(options.files):
        if task.counts:
            with run.progress(options.points, task.counts) as progress:
                scored = evaluate(options, progress.advance)
        else:
            scored = evaluate(options)
    for score in scored.scores:
        score.options = protocol(options)
    report(scored, options, run)
    if options.output != "-":
        run.close(closing_line(options.output, scored.scores))

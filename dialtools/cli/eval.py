"""dial-eval - score embedding files: intents, responses, acts, similarity, ...

  dial-eval intent --train train.parquet --test test.parquet --shots 1,5
  dial-eval intent --method knn clinc.parquet
  dial-eval oos --train train.parquet --test test.parquet --oos-label oos
  dialtools assign --router router.parquet test.parquet | dial-eval route
  dial-eval select heldout.parquet --fail-under top-1=60
  dial-eval act --target next dstc2.parquet
  dial-eval infer --label qi,hi --under-tokens 256 ic-tod.parquet
  dial-eval retrieve clinc150.parquet
  dial-eval sts sick.parquet
  dial-eval entail snli.parquet
  dial-eval cluster banking77.parquet
  dial-eval suite diaeval before/ after/
  dial-eval compare before.jsonl after.jsonl
  dial-eval finetune intent --model model/ tickets.jsonl
  dial-eval curve --intent tickets.jsonl --plot curve.svg run/

Reads the files that dial-embed writes (Parquet, Arrow, JSONL, .npy). It needs
no model and no GPU, except for finetune and curve, which read records and
load encoders. Scores are in percent with 95 % intervals: how much they would
vary with other test rows (other dialogues or blocks of candidates, where rows
belong together), and with other runs where there are several. Intervals of
shares are Wilson's, others come from a bootstrap. Macro-F1 of fewer than ten
rows a class is lower than that of more rows, and its interval is that of files
as small; so is FPR's of fewer than 40 texts out of scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dialtools.catalog import Entry
from dialtools.cli._command import Command, Group, command
from dialtools.cli._run import Run
from dialtools.eval.options.base import page_of, protocol
from dialtools.eval.tasks.catalog import TASKS, Task


@dataclass(frozen=True)
class TaskCommand(Entry):
    """A task as a command; the target is its name in the catalogue."""

    def load(self) -> Command:
        """Return the command: the options and the page of the task, and a run that reports it."""
        task = TASKS[self.target]
        options_class = task.options_class()
        make = command(options_class, memory=task.memory, doc=page_of(options_class))
        return make(lambda options, run: _run(task, options, run))


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


COMMANDS = {
    **{name: TaskCommand(name, task.summary) for name, task in TASKS.items()},
    "space": Entry(
        "dialtools.cli.eval_views:space", "measure uniformity, alignment, cosines, isotropy"
    ),
    "plot": Entry(
        "dialtools.cli.eval_views:plot",
        "draw t-SNE or principal components, as a picture or a page to explore",
    ),
    "curve": Entry(
        "dialtools.cli.curve:main",
        "score the snapshots of a training run, as a table and a picture",
    ),
    "finetune": Entry(
        "dialtools.cli.finetune:main", "fine-tune encoders on a few examples, and test them"
    ),
    "suite": Entry(
        "dialtools.cli.eval_tables:suite", "run a whole benchmark over one or several models"
    ),
    "mteb": Entry(
        "dialtools.cli.eval_tables:mteb",
        "write scores as result files of MTEB, where the protocol is the same",
    ),
    "compare": Entry(
        "dialtools.cli.eval_tables:compare",
        "compare score files: differences, intervals, paired tests",
    ),
}
ELSEWHERE = ("assign", "drift", "mine", "neighbors", "search")
main = Group(__doc__ or "", COMMANDS, {verb: f"dialtools {verb}" for verb in ELSEWHERE})


if __name__ == "__main__":
    main()

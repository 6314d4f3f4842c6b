"""dial-eval - score embedding files: intent, out of scope, response selection

  dial-eval intent --train train.parquet --test test.parquet --shots 1,5
  dial-eval intent --method knn clinc.parquet
  dial-eval oos --train train.parquet --test test.parquet --oos-label oos
  dial-eval select heldout.parquet --fail-under top-1=60

Reads what dial-embed writes (Parquet, Arrow, JSONL, .npy); needs no model and no GPU. Numbers are percent, with 95 %
intervals: Student's t over runs, or bootstrap over the queries of one run.
"""

from __future__ import annotations

from typing import Any

from dialtools.catalog import Entry
from dialtools.cli._command import command, group
from dialtools.cli._run import Run
from dialtools.eval.options import IntentOptions, OosOptions, ReportOptions, SelectOptions

MEMORY = "the embedding files: 4 bytes a number"


@command(IntentOptions, memory=MEMORY, reads_stdin=False, name="dial-eval intent", doc="""dial-eval intent - few-shot intent classification

  dial-eval intent --train train.parquet --test test.parquet --shots 1,5 --runs 10
  dial-eval intent --train train.parquet --test test.parquet --episodes splits.json --episode-set bank77
  dial-eval intent --method knn --neighbours 5 banking77.parquet

A prototype is the mean of a class's unit vectors, not scaled again; a text goes to the prototype with the largest dot
product. Each run draws k examples a class with Python's generator, as the DSE reference does.
""")  # fmt: skip
def intent(options: IntentOptions, run: Run) -> None:
    from dialtools.eval import intent as task

    _report(*task.evaluate(options), options, run)


@command(OosOptions, memory=MEMORY, reads_stdin=False, name="dial-eval oos", doc="""dial-eval oos - tell what is out of scope

  dial-eval oos --train train.parquet --test test.parquet --oos-label oos
  dial-eval oos --shots 5 --validation-split val clinc150.parquet

Out of scope is a class with a prototype of its own, and whatever scores no higher than a threshold: mean - std, mean or
mean + std of the test scores (transductive, as the DSE reference), or the one that is best on validation rows. Rows of
scores are divided by their length as the reference does; `raw` settings do without. AUROC and FPR at 95 % recall take
out-of-scope texts as the positive class.
""")  # fmt: skip
def oos(options: OosOptions, run: Run) -> None:
    from dialtools.eval import oos as task

    _report(*task.evaluate(options), options, run)


@command(SelectOptions, memory=MEMORY, name="dial-eval select", doc="""dial-eval select - find the response among candidates

  dial-eval select heldout.parquet
  dial-eval select --sampling random --seed 7 --candidates 50 heldout.parquet
  dial-eval select queries.parquet --pool candidates.parquet --duplicates count

Candidates are the responses of N consecutive rows (the last incomplete block is dropped), N - 1 drawn ones, or given
lists. A candidate with the text of the true response is left out, or counted against it; equal scores share the places
they hold in expectation (--ties average).
""")  # fmt: skip
def select(options: SelectOptions, run: Run) -> None:
    from dialtools.eval import select as task

    _report(*task.evaluate(options), options, run)


def _report(scores: list[Any], metadata: dict[str, str], options: ReportOptions, run: Run) -> None:
    """Print a table for a person or JSONL for a machine; then check the gates."""
    import sys

    import orjson

    from dialtools.eval.score import check_gates
    from dialtools.streams.sinks import write_records

    about = orjson.loads(metadata.get("dialtools", "{}"))
    inputs = _inputs(options)
    for score in scores:
        score.model, score.inputs = (about.get("options") or {}).get("model"), inputs
    if options.output == "-" and sys.stdout.isatty() and not options.json:
        _table(scores, run)
    else:
        write_records((s.record() for s in scores), options.output, to="jsonl", overwrite=options.overwrite)
        sys.stdout.flush()
    check_gates(scores, options.fail_under)


def _inputs(options: Any) -> list[dict[str, Any]]:
    from dialtools.streams.provenance import describe

    named = [getattr(options, name, None) for name in ("train", "test", "validation", "pool", "episodes")]
    return [describe(path) for path in (*options.inputs, *named) if path]


def _table(scores: list[Any], run: Run) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{scores[0].task} · {scores[0].dataset} · {scores[0].n:,} texts, percent", title_justify="left")  # fmt: skip
    for name, justify in (("setting", "left"), ("metric", "left"), ("score", "right"), ("95 % interval", "right"), ("std", "right"), ("runs", "right")):  # fmt: skip
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for s in scores:
        spread = f"{s.std:.2f}" if s.std == s.std else ""
        interval = f"{s.low:.2f} – {s.high:.2f}" if s.low == s.low else ""
        table.add_row(s.setting, s.metric, f"{s.value:.2f}", interval, spread, str(s.runs))
    Console(no_color=not run.colored, highlight=False).print(table)


TASKS = {
    "intent": Entry("dialtools.cli.eval:intent", "few-shot intent classification, by prototypes or nearest neighbours"),
    "oos": Entry("dialtools.cli.eval:oos", "tell in-scope texts from out-of-scope ones"),
    "select": Entry("dialtools.cli.eval:select", "find the response among candidates"),
}
main = group(__doc__ or "", TASKS)

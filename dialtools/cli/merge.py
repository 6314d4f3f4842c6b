"""dialtools merge - add up what models learnt from the same start

  dialtools merge minilm dse*0.7 simcse*0.7 -o merged/
  dialtools merge minilm dse*0.5 -o half/
  dialtools merge minilm dse simcse --choose-on heldout.jsonl,tickets.jsonl \\
    --grid 0,0.5,1 -o chosen/

Writes a model whose tensors are START + the sum of WEIGHT (MODEL - START). A
weight is how far to go from the start towards that model; without one it is
1. Halfway keeps most of what a model learnt and more of what its start was
good at. The weights of several models may have any sum. For seeds of one run
let them sum to 1, which gives the mean of the seeds.

Put MODEL*WEIGHT in quotes ("dse*0.7") where your shell takes the star for a
pattern. Prints the path of the new model.

Which models can be merged:

The models must share their start, as far as their dialtools.json tells, and
have its tensors, tokens and pooling. Recipes differ in pooling (SimCSE's is
cls): train all with one --pooling. Numbers are added in float64 and stored in
the start's type; integers are the start's. Tokenizer, pooling and length are
those of the first model after the start. Centres (dialtools center) are left
out, and so are heads that some recipes keep beside a model, such as TaDSE's
alignment.

Choosing weights on validation files:

--choose-on tries all combinations of the weights of --grid, and the unchanged
start. It takes the highest mean over the files of score minus the start's
score; of equals, the smaller weights. A file of pairs is scored as dial-eval
select does (top-1 of 100). Labelled records with a split are scored as
dial-eval intent does (mean of 1- and 5-shot accuracy). The result has all
scores in merge-candidates.jsonl.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.merge.options import MergeOptions
from dialtools.streams.tally import counted

if TYPE_CHECKING:
    from dialtools.eval.prepared import Prepared
    from dialtools.merge.choose import Scores
    from dialtools.merge.parents import Family

TEMPORARY = ".candidate"


@command(MergeOptions, memory="one tensor of each model; a whole one with --choose-on", plans=True)
def main(options: MergeOptions, run: Run) -> None:
    from dialtools.encoder.guest import start_torch

    start_torch(options.threads)
    from dialtools.merge.directory import finish, write_merged
    from dialtools.merge.parents import open_family
    from dialtools.streams.atomic import atomic_directory

    family = open_family(options)
    tasks = _tasks(options)
    if options.dry_run:
        return run.tell_plan(_plan(options, family, tasks))
    score = None
    if tasks:
        run.warn(_cost(options, tasks))
        score = _scorer(tasks, family, options)
    with atomic_directory(options.output, overwrite=options.overwrite) as folder:
        weights = _choose(folder, family, score, options, run) if score else options.weights
        write_merged(folder, family, weights)
        finish(folder, family, weights, options)
    for model in (family.start, *family.models):
        if model.stated.center:
            run.warn(f"{model.name}: merged without its centre; dialtools center gives another")
    run.tell_path(options.output)
    run.close(f"{options.output}: {_sum(family, weights)}")


def _tasks(options: MergeOptions) -> dict[str, Prepared]:
    """Return what candidates are scored on, by file."""
    if not options.choose_on:
        return {}
    from dialtools.eval.prepared import prepare_file

    return {file: prepare_file(file, seed=options.seed) for file in options.choose_on}


def _plan(options: MergeOptions, family: Family, tasks: dict[str, Prepared]) -> dict[str, str]:
    names = " and ".join(model.name for model in family.models)
    lines = {
        "merges": names if tasks else _sum(family, options.weights),
        "tensors": f"{len(family.models[0].tensors.shapes):,}",
    }
    if tasks:
        lines["chooses"] = _cost(options, tasks)
    return {**lines, "writes": options.output}


def _cost(options: MergeOptions, tasks: dict[str, Prepared]) -> str:
    """Say what choosing takes."""
    texts = {file: len(task.records) * len(task.fields) for file, task in tasks.items()}
    of_files = ", ".join(f"{count:,} of {file}" for file, count in texts.items())
    total = options.candidates * sum(texts.values())
    return (
        f"{counted(options.candidates, 'candidate')}, each embeds {of_files}: {total:,} texts in "
        "all"
    )


def _choose(
    folder: Path,
    family: Family,
    score: Callable[[Path], Scores],
    options: MergeOptions,
    run: Run,
) -> tuple[float, ...]:
    """Score all candidates, write their table, and return the weights of the best."""
    from dialtools.merge.choose import TABLE, best, candidates, score_all, table
    from dialtools.merge.directory import write_merged

    every = candidates(options.grid, len(family.models))
    scored = []
    with run.progress(len(every), "candidates") as progress:
        for candidate in score_all(
            every,
            lambda into, weights: write_merged(into, family, weights),
            score,
            folder / TEMPORARY,
        ):
            scored.append(candidate)
            progress.advance(1, gain=f"{candidate.gain(scored[0].scores):+.2f}")
    chosen = best(scored)
    names = [model.name for model in family.models]
    (folder / TABLE).write_bytes(table(scored, names, chosen))
    if not any(chosen.weights):
        run.warn("no candidate is better than the start: the result has its weights")
    return chosen.weights


def _scorer(
    tasks: dict[str, Prepared], family: Family, options: MergeOptions
) -> Callable[[Path], Scores]:
    """Return what scores a model directory.

    Raises:
        ModelError: if the start cannot be loaded.
    """
    from dialtools.embed.in_memory import open_model
    from dialtools.eval.prepared import headline

    # also, what loading imports is imported before there is anything to clean up: signals wait
    open_model(family.start.folder, options, max_length=None)

    def score(model: Path) -> Scores:
        embed = open_model(model, options, max_length=None)
        return {
            file: headline(task.scores(embed(task.records, task.fields)))
            for file, task in tasks.items()
        }

    return score


def _sum(family: Family, weights: Sequence[float]) -> str:
    parts = (
        f"{weight:g} ({model.name})" for model, weight in zip(family.models, weights, strict=True)
    )
    return " + ".join([family.start.name, *parts])

"""dial-eval suite, compare and mteb: many scores at once."""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._grid import table_format
from dialtools.cli._run import Run
from dialtools.cli._scores import report_suite, tell_finished
from dialtools.eval.options.base import page_of
from dialtools.eval.options.compare import CompareOptions
from dialtools.eval.options.mteb import MtebOptions
from dialtools.eval.options.suite import SuiteOptions


@command(
    SuiteOptions,
    memory="the embedding files of one data set: 4 bytes per number",
    reads_stdin=False,
    plans=True,
    doc=page_of(SuiteOptions),
)
def suite(options: SuiteOptions, run: Run) -> None:
    from dialtools.cli._pieces import finishing, take_pieces
    from dialtools.eval import suite_job as task
    from dialtools.eval.suite import load_suite, with_tasks

    kind = table_format(options.output, "jsonl" if options.json else options.to)
    benchmark = load_suite(options.inputs[0])
    if options.task:
        benchmark = with_tasks(benchmark, options.task)
    places = task.find_places(benchmark, list(dict.fromkeys(options.inputs[1:])))
    if run.dry:
        return run.tell_plan(task.plan(places))
    seed = None if run.origins["seed"] == "default" else options.seed
    job = task.job_of(run.name, options, benchmark, places, seed=seed)
    with run.claim(job) as work:
        if work.finished:
            return tell_finished(work.finished, options, run)
        options.overwrite = work.overwrite
        pieces = task.take(benchmark, places, work, seed=seed)
        take_pieces(pieces, run, total=len(places), unit="data sets", resumable=work.kept)
        for place in places:
            if place.missing:
                run.warn(f"{place.folder}: {place.dataset.name} is missing: {place.missing}")
        with finishing(work):
            result = task.result_of(benchmark, places, work)
            report_suite(benchmark, result, options, run, to=kind)


@command(
    CompareOptions,
    memory="the score files, and a block of resamples",
    doc=page_of(CompareOptions),
)
def compare(options: CompareOptions, run: Run) -> None:
    from dialtools.cli._compared import report_comparison
    from dialtools.eval.compare import compare as task

    report_comparison(task.evaluate(options), options, run)


@command(MtebOptions, memory="the score files", doc=page_of(MtebOptions))
def mteb(options: MtebOptions, run: Run) -> None:
    from dialtools.eval.compare.mteb import evaluate, write_results

    export = evaluate(options)
    write_results(export, options.output, overwrite=options.overwrite)
    for what, why in export.refused.items():
        run.warn(f"refused: {what}: {why}")
    run.close(f"{options.output}: {', '.join(export.files)}")

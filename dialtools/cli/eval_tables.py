"""dial-eval suite, compare and mteb: many scores at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dialtools.cli._command import command
from dialtools.cli._grid import Grid, table_format, write_table
from dialtools.cli._run import Run
from dialtools.cli._scores import interval_cell, report_suite, tell_finished
from dialtools.eval.options.base import page_of
from dialtools.eval.options.compare import CompareOptions
from dialtools.eval.options.mteb import MtebOptions
from dialtools.eval.options.suite import SuiteOptions
from dialtools.metrics import CORRECTIONS
from dialtools.streams.tally import counted

if TYPE_CHECKING:
    from dialtools.eval.compare.comparison import Comparison, Difference, Value

UNKNOWN = "–"


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
    from dialtools.eval.compare import compare as task
    from dialtools.eval.compare.outcome import check_gate, records, refuse_nothing, untested_notes

    comparison = task.evaluate(options)
    for note in untested_notes(comparison):
        run.warn(note)
    refuse_nothing(comparison)
    write_table(comparison_grid(comparison), lambda: records(comparison), run, to=options.to)
    if options.fail_if_worse is not None:
        check_gate(comparison, options.fail_if_worse)


@command(MtebOptions, memory="the score files", doc=page_of(MtebOptions))
def mteb(options: MtebOptions, run: Run) -> None:
    from dialtools.eval.compare.mteb import evaluate, write_results

    export = evaluate(options)
    write_results(export, options.output, overwrite=options.overwrite)
    for what, why in export.refused.items():
        run.warn(f"refused: {what}: {why}")
    run.close(f"{options.output}: {', '.join(export.files)}")


def _title(comparison: Comparison) -> str:
    """Return what the numbers of a table are."""
    if comparison.alone:
        return "percent"
    tests = f"{CORRECTIONS[comparison.correct].summary} {counted(comparison.tests, 'test')}"
    return f"difference to {comparison.baseline} with 95 % interval, * p < 0.05 {tests}"


def comparison_grid(comparison: Comparison) -> Grid:
    """Return the comparison as text: the baseline, then three columns for each other model."""
    others = list(comparison.columns)[1:]
    head = ["task", "data set", "score", comparison.baseline]
    if comparison.alone:
        head.append("95 % interval")
    for name in others:
        head += [name, "difference", "adjusted p"]
    rows = []
    for row in comparison.rows:
        cells = [row.task, row.dataset, f"{row.setting} {row.metric}".strip()]
        cells.append(_value_cell(comparison.value(row, comparison.baseline)))
        if comparison.alone:
            cells.append(interval_cell(*comparison.interval(row, comparison.baseline)))
        for name in others:
            cells.append(_value_cell(comparison.value(row, name)))
            cells += _difference_cells(comparison.differences.get((row, name)))
        rows.append(cells)
    return Grid(head, rows, _title(comparison), names=3)


def _value_cell(value: Value | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value.mean:.2f} ± {value.std:.2f}" if value.seeds > 1 else f"{value.mean:.2f}"


def _difference_cells(difference: Difference | None) -> list[str]:
    """Return the difference with its interval, starred if significant, and the p-value."""
    if difference is None:
        return [UNKNOWN, UNKNOWN]
    interval = ""
    if difference.low == difference.low:
        interval = f" [{difference.low:+.2f}, {difference.high:+.2f}]"
    star = "*" if difference.significant else ""
    return [f"{difference.points:+.2f}{interval}{star}", _p_cell(difference)]


def _p_cell(difference: Difference) -> str:
    if not difference.test:
        return UNKNOWN
    return "<0.001" if difference.adjusted < 0.001 else f"{difference.adjusted:.3f}"

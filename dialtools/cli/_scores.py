"""Scores to a person or a machine: a table, or JSON Lines; then the gates."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from dialtools.cli._grid import Grid, two_digits, write_table
from dialtools.cli._run import Run
from dialtools.errors import DataError
from dialtools.eval.options.base import SOURCES, ReportOptions
from dialtools.eval.options.space import SpaceOptions
from dialtools.eval.options.suite import SuiteOptions
from dialtools.streams.tally import counted

if TYPE_CHECKING:
    from dialtools.eval.score import Score, Scored
    from dialtools.eval.suite import Suite
    from dialtools.eval.suite_job import Result


def report(
    scored: Scored,
    options: ReportOptions,
    run: Run,
    *,
    inputs: Sequence[dict[str, Any]] | None = None,
) -> None:
    """Print a table for a person or JSONL for a machine, then the notes; then check the gates.

    Args:
        inputs: name, size and digest of every file that was read, of a task that takes long; else
            they are taken now.
    """
    from dialtools.eval.score import check_gates, gated
    from dialtools.streams.making import model_named

    scores = scored.scores
    gates = gated(scores, options.fail_under)
    model = model_named(scored.metadata)
    read = _inputs(options, run) if inputs is None else list(inputs)
    for score in scores:
        score.model = score.model or model
        score.inputs = read
    each = _goes_to_file(options.output) if options.each is None else options.each
    records = [score.record(each=each) for score in scores]
    write_scores(score_grid(scores), records, run)
    for note in scored.notes:
        run.warn(note)
    check_gates(gates)


def tell_finished(finished: str, options: ReportOptions | SuiteOptions, run: Run) -> None:
    """Say that an earlier run has written the scores; then check the gates by what it wrote."""
    from dialtools.eval.compare.columns import read_scores
    from dialtools.eval.score import Score, check_gates, gated

    gates: list[tuple[Score, str]] = []
    if options.fail_under:
        records = [seed.record for seed in read_scores([options.output])]
        # averages and published numbers have no items
        scores = [Score.from_record(record) for record in records if "n" in record]
        gates = gated(scores, options.fail_under)
    run.close(finished)
    check_gates(gates)


def closing_line(output: str, scores: Sequence[Score]) -> str:
    """Return the first of some scores, and how many more were written to a file.

    Where several parts were scored, the first of the test part.
    """
    of_test = (score for score in scores if score.setting.split(" ")[0] == "test")
    first = next(of_test, scores[0])
    more = f", {len(scores) - 1:,} more" if len(scores) > 1 else ""
    what = " ".join(filter(None, (first.setting, first.metric)))
    return f"{output}: {what} {first.value:.2f}{more}"


def _goes_to_file(output: str) -> bool:
    """Tell whether scores are kept: in the file that -o names, or the one that stdout is."""
    return output != "-" or S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)


def write_scores(grid: Grid, records: Sequence[dict[str, Any]], run: Run) -> None:
    """Write scores: a table on a terminal, JSONL everywhere else."""
    options = run.options
    to = "jsonl" if options.json or options.output != "-" else None
    write_table(grid, lambda: records, run, to=to)


def _inputs(options: ReportOptions, run: Run) -> list[dict[str, Any]]:
    """Return name, size and digest of every file that a task read."""
    from dialtools.streams.provenance import describe

    paths = filter(None, (*options.files, *(getattr(options, name, None) for name in SOURCES)))
    return [run.inputs.stdin if path == "-" else describe(path) for path in paths]


def score_grid(scores: list[Score]) -> Grid:
    """Return scores as a table; columns that say nothing of any score are left out."""
    names: dict[str, Callable[[Score], str]] = {}
    if len({score.model for score in scores}) > 1:
        names["model"] = lambda s: str(s.model)
    names |= {"setting": lambda s: s.setting, "metric": lambda s: s.metric}
    columns = {
        **names,
        "score": lambda s: f"{s.value:.2f}",
        "95 % interval": lambda s: interval_cell(s.low, s.high),
    }
    if any(score.chance is not None for score in scores):
        columns["chance"] = lambda s: two_digits(s.chance)
    else:
        columns["std"] = lambda s: two_digits(s.std)
        columns["runs"] = lambda s: str(s.runs)
    if any(score.unleaked is not None for score in scores):
        columns["unleaked"] = lambda s: two_digits(s.unleaked)

    same_size = len({score.n for score in scores}) == 1
    size = f"{counted(scores[0].n, 'text')}, " if same_size else ""
    return Grid(
        head=list(columns),
        rows=[[cell(score) for cell in columns.values()] for score in scores],
        title=f"{scores[0].task} · {scores[0].dataset} · {size}percent",
        names=len(names),
    )


def interval_cell(low: float, high: float) -> str:
    """Return an interval for the table; nothing where there is none."""
    return f"{low:.2f} – {high:.2f}" if low == low else ""


def report_space(scores: list[Score], options: SpaceOptions, run: Run) -> None:
    """Print a column for each file, or JSONL; draw the plot; then check the gates."""
    from dialtools.eval.score import check_gates, gated

    gates = gated(scores, options.fail_under)
    spaces: dict[str, dict[str, float]] = {}
    inputs = _inputs(options, run)
    for score in scores:
        score.inputs = inputs
        name = f"{score.dataset} {score.setting}".strip()
        spaces.setdefault(name, {})[score.metric] = score.value

    points = _trade_off(spaces, options) if options.plot else {}
    write_scores(space_grid(spaces), [score.record() for score in scores], run)
    if options.plot:
        from dialtools.plots.curve import draw_trade_off

        draw_trade_off(points, options.plot, tell=run.warn, overwrite=options.overwrite)
    check_gates(gates)


def space_grid(spaces: dict[str, dict[str, float]]) -> Grid:
    """Return a row for each metric and a column for each space."""
    metrics = dict.fromkeys(metric for values in spaces.values() for metric in values)
    rows = [
        [metric, *(_number(values.get(metric), 3) for values in spaces.values())]
        for metric in metrics
    ]
    return Grid(head=["space", *spaces], rows=rows)


def _trade_off(
    spaces: dict[str, dict[str, float]], options: SpaceOptions
) -> dict[str, tuple[float, float]]:
    """Return alignment and uniformity of each space that has both.

    Raises:
        DataError: without labels there is no alignment.
    """
    points = {
        name: (values["alignment"], values["uniformity"])
        for name, values in spaces.items()
        if "alignment" in values
    }
    if not points:
        message = f"no labels ({options.label}), so no alignment to draw"
        raise DataError(message, where=options.files[0])
    return points


def report_suite(suite: Suite, result: Result, options: SuiteOptions, run: Run, *, to: str) -> None:
    """Write one table with a column for each model, or its records; then check the gates."""
    from dialtools.eval.score import check_gates, gated
    from dialtools.eval.suite_job import records

    gates = gated(result.scores, options.fail_under)
    write_table(
        suite_grid(suite, result, published=options.published),
        lambda: records(suite, result, published=options.published, each=bool(options.each)),
        run,
        to=to,
    )
    check_gates(gates)


def suite_grid(suite: Suite, result: Result, *, published: bool) -> Grid:
    """Return a row for each score of a suite, a column for each model, papers' numbers behind."""
    papers = suite.published() if published else {}
    rows = []
    for row in suite.rows():
        ours = [_number(values.get(row), 2) for values in result.values.values()]
        theirs = [_number(values.get(row), 1) for values in papers.values()]
        rows.append([row.task, row.dataset, f"{row.setting} {row.metric}".strip(), *ours, *theirs])

    models = [*_short_names(list(result.values)), *(f"{model} †" for model in papers)]
    source = f"; † as published: {suite.source}" if papers else ""
    return Grid(
        head=["task", "data set", "score", *models],
        rows=rows,
        title=f"{suite.title}, percent{source}",
        names=3,
    )


def _short_names(folders: list[str]) -> list[str]:
    """Return the last part of each folder's path, where no other folder ends with the same."""
    names = [Path(folder).resolve().name for folder in folders]
    return [
        name if names.count(name) == 1 else folder
        for name, folder in zip(names, folders, strict=True)
    ]


def _number(value: float | None, digits: int) -> str:
    """Return a number for the table; halves are rounded up, as papers do."""
    return "–" if value is None else f"{value + 1e-9:.{digits}f}"

"""Scores to a person or a machine: a table, or JSON Lines; then the gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialtools.cli._run import Run
from dialtools.eval.options.base import ReportOptions
from dialtools.eval.options.tables import SuiteOptions
from dialtools.eval.options.views import SpaceOptions

if TYPE_CHECKING:
    from dialtools.cli._tables import Grid
    from dialtools.eval.suite import Result, Suite


def report(scores: list[Any], metadata: dict[str, str], options: ReportOptions, run: Run) -> None:
    """Print a table for a person or JSONL for a machine; then check the gates."""
    import sys

    import orjson

    from dialtools.eval.sanity import told
    from dialtools.eval.score import check_gates
    from dialtools.streams.sinks import write_records

    about = orjson.loads(metadata.get("dialtools", "{}"))
    inputs = _inputs(options)
    for score in scores:
        score.model, score.inputs = score.model or (about.get("options") or {}).get("model"), inputs
    if options.output == "-" and sys.stdout.isatty() and not options.json:
        _table(scores, run)
    else:
        write_records(
            (s.record(each=options.each) for s in scores),
            options.output,
            to="jsonl",
            overwrite=options.overwrite,
        )
        sys.stdout.flush()
    if line := told(scores[0].data):
        run.warn(line)
    check_gates(scores, options.fail_under)


def _inputs(options: Any) -> list[dict[str, Any]]:
    from dialtools.streams.provenance import describe

    named = [
        getattr(options, name, None) for name in ("train", "test", "validation", "pool", "episodes")
    ]
    return [describe(path) for path in (*options.inputs, *named) if path]


def _table(scores: list[Any], run: Run) -> None:
    from rich.console import Console
    from rich.table import Table

    size = f"{scores[0].n:,} texts, " if len({s.n for s in scores}) == 1 else ""
    table = Table(
        title=f"{scores[0].task} · {scores[0].dataset} · {size}percent", title_justify="left"
    )
    chance, unleaked = (
        any(getattr(s, name) is not None for s in scores) for name in ("chance", "unleaked")
    )
    models = len({s.model for s in scores}) > 1
    for name in (
        *(["model"] if models else []),
        "setting",
        "metric",
        "score",
        "95 % interval",
        *(["chance"] if chance else ["std", "runs"]),
        *["unleaked"] * unleaked,
    ):
        table.add_column(
            name, justify="left" if name in ("model", "setting", "metric") else "right"
        )
    for s in scores:
        spread = f"{s.std:.2f}" if s.std == s.std else ""
        interval = f"{s.low:.2f} – {s.high:.2f}" if s.low == s.low else ""
        beside = (
            [f"{s.chance:.2f}" if s.chance is not None else ""] if chance else [spread, str(s.runs)]
        )
        last = [f"{s.unleaked:.2f}" if s.unleaked is not None else ""] * unleaked
        table.add_row(
            *[str(s.model)] * models,
            s.setting,
            s.metric,
            f"{s.value:.2f}",
            interval,
            *beside,
            *last,
        )
    Console(no_color=not run.colored, highlight=False).print(table)


def report_space(scores: list[Any], options: SpaceOptions, run: Run) -> None:
    """Print a column for each file, or JSONL; draw the plot; then check the gates."""
    import sys

    from dialtools.eval.score import check_gates
    from dialtools.streams.sinks import write_records

    columns: dict[str, dict[str, float]] = {}
    for score in scores:
        score.inputs = _inputs(options)
        columns.setdefault(f"{score.dataset} {score.setting}".strip(), {})[score.metric] = (
            score.value
        )
    if options.output == "-" and sys.stdout.isatty() and not options.json:
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        table = Table("space", *(escape(name) for name in columns))
        for metric in dict.fromkeys(score.metric for score in scores):
            values = (column.get(metric) for column in columns.values())
            table.add_row(metric, *("–" if value is None else f"{value:.3f}" for value in values))
        Console(no_color=not run.colored, highlight=False).print(table)
    else:
        write_records(
            (s.record() for s in scores), options.output, to="jsonl", overwrite=options.overwrite
        )
        sys.stdout.flush()
    if options.plot:
        from dialtools.errors import DataError
        from dialtools.plots.trade_off import draw_trade_off

        points = {
            name: (found["alignment"], found["uniformity"])
            for name, found in columns.items()
            if "alignment" in found
        }
        if not points:
            raise DataError(
                f"no labels ({options.label}), so no alignment to draw", where=options.inputs[0]
            )
        draw_trade_off(points, options.plot, overwrite=options.overwrite)
    check_gates(scores, options.fail_under)


def report_suite(suite: Suite, result: Result, options: SuiteOptions, run: Run) -> None:
    """Write one table with a column for each model, or its records; then check the gates."""
    from dialtools.cli._tables import write_table
    from dialtools.eval.score import check_gates
    from dialtools.eval.suite import records

    grid = _suite_grid(suite, result, published=options.published)
    to = "jsonl" if options.json else options.to
    write_table(
        grid,
        lambda: records(suite, result, published=options.published, each=options.each),
        output=options.output,
        to=to,
        overwrite=options.overwrite,
        run=run,
    )
    check_gates(result.scores, options.fail_under)


def _suite_grid(suite: Suite, result: Result, *, published: bool) -> Grid:
    from pathlib import Path

    from dialtools.cli._tables import Grid

    beside = suite.published() if published else {}
    names = {folder: Path(folder).resolve().name for folder in result.values}
    short = [
        name if list(names.values()).count(name) == 1 else folder for folder, name in names.items()
    ]
    columns = [*result.values.values(), *beside.values()]
    rows = []
    for row in suite.rows():
        numbers = [
            _number(values.get(row), 2 if i < len(names) else 1) for i, values in enumerate(columns)
        ]
        rows.append([row.task, row.dataset, f"{row.setting} {row.metric}".strip(), *numbers])
    title = f"{suite.title}, percent" + (f"; † as published: {suite.source}" if beside else "")
    return Grid(
        title, ["task", "data set", "score", *short, *(f"{model} †" for model in beside)], rows
    )


def _number(value: float | None, digits: int) -> str:
    """Return a number for the table; halves are rounded up, as papers do."""
    return "–" if value is None else f"{value + 1e-9:.{digits}f}"

"""Scores over the steps of training: a table for a person, records for a machine, a picture."""

from __future__ import annotations

from typing import Any

from dialtools.cli._grid import Grid, on_screen, show
from dialtools.cli._run import Run
from dialtools.eval.options.curve import CurveOptions


def report_curves(
    rows: list[dict[str, Any]], options: CurveOptions, run: Run, *, overwrite: bool
) -> None:
    """Print a line for each snapshot, or write JSONL."""
    from dialtools.eval.curve import table_rows
    from dialtools.streams.sinks import write_records

    if options.json or not on_screen(options.output):
        write_records(rows, options.output, to="jsonl", overwrite=overwrite)
    else:
        head = ["run", "step", *options.metrics]
        show(Grid(head, table_rows(rows, options.metrics), title="percent"), run)


def draw_curves(
    rows: list[dict[str, Any]], options: CurveOptions, run: Run, *, overwrite: bool
) -> None:
    """Draw a line for each run and metric, if a picture is asked for."""
    from dialtools.eval.curve import lines_of
    from dialtools.plots.curve import draw_scores

    if options.plot:
        lines = lines_of(rows, options.metric or options.metrics[:1])
        draw_scores(lines, options.plot, tell=run.warn, overwrite=overwrite)

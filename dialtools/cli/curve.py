"""dial-eval curve: snapshots embedded, scored and drawn."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from dialtools.cli._command import command
from dialtools.cli._grid import Grid
from dialtools.cli._run import Run
from dialtools.cli._scores import write_scores
from dialtools.eval.options.base import page_of
from dialtools.eval.options.curve import CurveOptions
from dialtools.streams.tally import counted


@command(
    CurveOptions,
    memory="one model, the records, and the vectors of one snapshot",
    reads_stdin=False,
    doc=page_of(CurveOptions),
)
def main(options: CurveOptions, run: Run) -> None:
    from dialtools.cli._pieces import take_pieces
    from dialtools.encoder.guest import start_torch
    from dialtools.eval import curve as task
    from dialtools.eval.prepared import prepare
    from dialtools.streams.atomic import check_parent, refuse_existing

    if options.plot:
        check_parent(Path(options.plot))
    points = task.find_points(options.inputs)
    start_torch(options.threads)
    from dialtools.embed.in_memory import open_model
    from dialtools.encoder.device import settled_precision

    job = task.job_of(run.name, options, points, settled_precision(options))
    with run.claim(job) as work:
        if work.finished:
            if options.plot and Path(options.plot).is_file():
                run.warn(f"{options.plot}: exists already, and stays as it is")
            else:
                _draw(task.read_rows(options.output), options, run, overwrite=False)
            return run.close(work.finished)
        if options.plot:
            refuse_existing(options.plot, overwrite=work.overwrite)

        curve = task.Curve(points, prepare(options))
        job.settle()
        opened = partial(open_model, options=options, max_length=options.max_length)
        pieces = curve.take(work, opened)
        with run.graceful("snapshot"):
            take_pieces(pieces, run, total=len(points), unit="snapshots", resumable=work.kept)
        rows = curve.rows(work)
        options.overwrite = work.overwrite
        cells = task.table_rows(rows, options.metrics)
        write_scores(Grid(["run", "step", *options.metrics], cells, title="percent"), rows, run)
        _draw(rows, options, run, overwrite=work.overwrite)
        work.finish()

    where = "" if options.output == "-" else f"{options.output}: "
    run.close(f"{where}{counted(len(points), 'point')} of {counted(len(options.inputs), 'run')}")


def _draw(rows: list[dict[str, Any]], options: CurveOptions, run: Run, *, overwrite: bool) -> None:
    """Draw a line for each run and metric, if a picture is asked for."""
    from dialtools.eval.curve import lines_of
    from dialtools.plots.curve import draw_scores

    if options.plot:
        lines = lines_of(rows, options.metric or options.metrics[:1])
        draw_scores(lines, options.plot, tell=run.warn, overwrite=overwrite)

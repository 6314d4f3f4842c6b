"""dial-eval space and plot: what a space looks like."""

from __future__ import annotations

from pathlib import Path

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.eval.options.base import page_of
from dialtools.eval.options.plot import PlotOptions
from dialtools.eval.options.space import SpaceOptions
from dialtools.streams.tally import counted

MEMORY = "the embedding files: 4 bytes per number"


@command(SpaceOptions, memory=MEMORY, doc=page_of(SpaceOptions))
def space(options: SpaceOptions, run: Run) -> None:
    from dialtools.cli._scores import closing_line, report_space
    from dialtools.eval.tasks import space as task

    with run.watching_stdin(options.files):
        scores = task.evaluate(options)
    report_space(scores, options, run)
    if options.output != "-":
        run.close(closing_line(options.output, scores))


@command(PlotOptions, memory=MEMORY, doc=page_of(PlotOptions))
def plot(options: PlotOptions, run: Run) -> None:
    from dialtools.eval.labelled import note_on_absent
    from dialtools.eval.tasks import map as task
    from dialtools.plots.map import draw_map, write_page
    from dialtools.streams.sinks import write_records

    picture = task.evaluate(options)
    for note in note_on_absent("--black", options.black, picture.labels):
        run.warn(note)
    if Path(options.output).suffix == ".html":
        write_page(
            picture.points,
            picture.labels,
            picture.texts,
            options.output,
            title=picture.title,
            overwrite=options.overwrite,
        )
    else:
        draw_map(
            picture.points,
            picture.labels,
            options.output,
            tell=run.warn,
            kinds=picture.kinds,
            black=options.black,
            overwrite=options.overwrite,
        )
    if options.coordinates:
        write_records(picture.records(), options.coordinates, overwrite=options.overwrite)
    points = counted(len(picture.points), "point")
    labels = counted(len({*picture.labels} - {""}), "label")
    run.close(f"{options.output}: {points}, {labels}")

"""dial-eval space and plot: what a space looks like."""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.eval.options.views import PlotOptions, SpaceOptions

MEMORY = "the embedding files: 4 bytes a number"


@command(
    SpaceOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval space",
    doc="""dial-eval space - the shape of spaces: how even, how close the texts of one label

  dial-eval space clinc150.parquet
  dial-eval space --part test --plot space.svg clinc150.parquet banking77.parquet

Of unit vectors: uniformity, log of the mean of exp(-2 |x - y|^2) over pairs; alignment, the mean of |x - y|^2 over pairs
with one label; the mean cosine, of all pairs, of pairs with one label (intra) and with two (inter), and the margin between
the last two; the effective rank, exp of the entropy of the singular values; isotropy, the smallest by the largest
partition function. For uniformity and alignment lower is better, for isotropy and margin higher.
""",
)
def space(options: SpaceOptions, run: Run) -> None:
    from dialtools.cli._scores import report_space
    from dialtools.eval.tasks import space as task
    from dialtools.streams.atomic import refuse_existing

    if options.plot:
        refuse_existing(options.plot, overwrite=options.overwrite)
    scores = task.evaluate(options)
    report_space(scores, options, run)


@command(
    PlotOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval plot",
    doc="""dial-eval plot - embeddings on a plane, coloured by label

  dial-eval plot --part test clinc150.parquet -o clinc150.png
  dial-eval plot --method pca banking77.parquet -o banking77.svg --coordinates banking77.jsonl
  dial-eval plot clinc150.parquet -o clinc150.html

A picture has a legend of up to 20 labels; more are written where their points are. The page holds all it needs: hover tells
a point's label and text, the search marks the texts that hold some words, a click on a label shows it alone, the wheel
zooms. t-SNE is scikit-learn's, above 20,000 points openTSNE's; one seed, one picture.
""",
)
def plot(options: PlotOptions, run: Run) -> None:
    from pathlib import Path

    from dialtools.eval.tasks import map as task
    from dialtools.plots.map import draw_map, write_page
    from dialtools.streams.atomic import refuse_existing
    from dialtools.streams.sinks import write_records

    for path in filter(None, (options.output, options.coordinates)):
        refuse_existing(path, overwrite=options.overwrite)
    found = task.evaluate(options)
    if Path(options.output).suffix == ".html":
        write_page(
            found.points,
            found.labels,
            found.texts,
            options.output,
            title=found.title,
            overwrite=options.overwrite,
        )
    else:
        draw_map(found.points, found.labels, options.output, overwrite=options.overwrite)
    if options.coordinates:
        rows = zip(found.points.tolist(), found.labels, found.texts, strict=True)
        records = ({"x": x, "y": y, "label": label, "text": text} for (x, y), label, text in rows)
        write_records(records, options.coordinates, overwrite=options.overwrite)
    run.close(f"{options.output}: {len(found.points):,} points, {len(set(found.labels)):,} labels")

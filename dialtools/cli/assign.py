"""dialtools assign - the nearest class of rows, or none: routing, with what is out of scope

  dialtools assign new.parquet --examples train.parquet --min-cosine 0.5
  dialtools assign new.parquet --examples train.parquet \\
    --validation test.parquet --recall 0.9
  dialtools assign --examples train.parquet --validation test.parquet \\
    --precision 0.9 --per-class --save-router router.parquet
  dial-embed --model model/ tickets.jsonl \\
    | dialtools assign --router router.parquet

Each row comes out with its fields and with `assigned`, the class that it is
nearest to, if it is near enough, else `none` (--none oos names it otherwise);
`score`, the cosine with the nearest class; and `runners_up`, the classes that
come after what was assigned, with theirs. A class is as near as the mean of
its examples, or as the nearest of them (--nearest N).

How near is enough is --min-cosine, or what labelled validation rows say, which
should be others than the examples: the highest threshold at which the share
--recall of the rows of classes still gets its own class, or the lowest at
which the share --precision of what is assigned is right. Rows labelled `none`,
or with a class that no example has, are wrong wherever they are assigned.
--per-class asks the same of each class by itself; with some 20 rows a class
that is unsteadier than one threshold (docs/results/clusters.md). What cannot be
reached is told: at --recall all that is right is kept, at --precision nothing.

--save-router keeps classes and thresholds: a Parquet file, itself an embedding
file, a row for each vector of a class with its `label` and `threshold`. Rows
are assigned as they come, so that a log can be followed. Input, examples and
router must be of one model, as far as they tell.
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.near.assign_options import AssignOptions


@command(AssignOptions, memory="streams: a chunk of rows, and the vectors of the examples")
def main(options: AssignOptions, run: Run) -> None:
    from dialtools.near.assign import Assigning, classes
    from dialtools.streams.formats import FORMATS
    from dialtools.streams.provenance import as_metadata
    from dialtools.streams.sinks import output_format, write_records

    kind = output_format(options.output, options.to)
    assigning = Assigning(options)
    for note in assigning.notes:
        run.warn(note)
    if options.save_router:
        assigning.router.save(
            options.save_router, facts=run.provenance(), overwrite=options.overwrite
        )
    if not options.files:
        return run.close(f"{options.save_router}: {classes(assigning.router.labels)}")
    write_records(
        assigning.records(lines=FORMATS[kind].lines),
        options.output,
        to=kind,
        overwrite=options.overwrite,
        metadata=as_metadata(run.provenance()),
    )
    run.close(assigning.closing_line())

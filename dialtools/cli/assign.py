"""dialtools assign - route rows to their nearest class, or to none

  dialtools assign new.parquet --examples train.parquet --min-cosine 0.5
  dialtools assign new.parquet --examples train.parquet \\
    --validation test.parquet --recall 0.9
  dialtools assign new.parquet --examples train.parquet \\
    --unlabelled new.parquet
  dialtools assign --examples train.parquet --validation test.parquet \\
    --precision 0.9 --per-class --save-router router.parquet
  dial-embed --model model/ tickets.jsonl \\
    | dialtools assign --router router.parquet
  dialtools assign --router router.parquet test.parquet | dial-eval route

Writes each row with its fields and three new ones:
  assigned    the nearest class, or `none` if no class is near enough
              (--none oos writes `oos` instead)
  score       the cosine with the nearest class
  runners_up  the next classes with their scores; where no class was
              assigned, the nearest comes first

A class is represented by the mean of its examples, its prototype. With
--nearest N its score is the mean cosine of its N examples nearest to the row.

If you have few examples of each class, --unlabelled FILE adds a log of your
own, which may be the input itself. A row of it that is nearer to a class than
any other class is moves the prototype of that class. All such rows together
count as two examples, so with ten or more the log hardly matters
(docs/results/labels.md).

How near is near enough is set by --min-cosine, or by labelled validation rows
(--validation). Rows are assigned as they arrive. To follow a growing log, let
dial-embed answer line by line (--shard-rows 1). Input, examples and router
must come from the same model; this is checked for files that record their
model.

Thresholds from validation rows:

Use validation rows that are not among the examples. --recall SHARE takes the
highest threshold at which that share of the rows that belong to a class still
gets its own class. --precision SHARE takes the lowest threshold at which that
share of the assignments is right. Rows labelled `none`, or with a class that
has no examples, are wrong wherever they are assigned.

--per-class sets a threshold for each class in the same way. With only some 20
rows per class this is less stable than one threshold for all
(docs/results/clusters.md).

A line on stderr tells how many validation rows get the right class, another,
or none. If the share cannot be reached, a message says so: --recall then
keeps all that is right, and --precision assigns nothing.

Routers:

--save-router writes the classes and thresholds to a Parquet file, and
--router reads it. The file is itself an embedding file: a row for each vector
of a class, with its `label` and `threshold`.
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.near.assign_options import AssignOptions


@command(AssignOptions, memory="streams: a chunk of rows, and the vectors of the examples")
def main(options: AssignOptions, run: Run) -> None:
    from dialtools.near.assign import Assigning
    from dialtools.streams.formats import FORMATS
    from dialtools.streams.provenance import as_metadata
    from dialtools.streams.sinks import output_format, write_records
    from dialtools.streams.tally import counted

    kind = output_format(options.output, options.to)
    assigning = Assigning(options)
    for note in assigning.notes:
        run.warn(note)
    if options.save_router:
        assigning.router.save(
            options.save_router, facts=run.provenance(), overwrite=options.overwrite
        )
    if not options.files:
        classes = counted(len(assigning.router.labels), "class")
        return run.close(f"{options.save_router}: {classes}")
    write_records(
        assigning.records(lines=FORMATS[kind].lines),
        options.output,
        to=kind,
        overwrite=options.overwrite,
        metadata=as_metadata(run.provenance()),
    )
    run.close(assigning.closing_line())

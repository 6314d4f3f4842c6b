"""dialtools neighbors - the nearest rows: duplicates, canned replies, answers

  dialtools neighbors tickets.parquet --min-cosine 0.9
  dialtools neighbors tickets.parquet --min-cosine 0.95 --groups
  dialtools neighbors new.parquet tickets.parquet -k 3 -o found.parquet
  dialtools neighbors --vectors context,response v.parquet --distinct | head
  dial-embed --model model/ tickets.jsonl | dialtools neighbors - train.parquet

Compares each row of QUERIES with each row of INDEX, or with all other rows of
QUERIES if there is no INDEX. Writes one record per pair of a row and one of
its nearest, in the order of QUERIES, nearest first:
  row, near        the numbers of both rows, from 0
  rank, cosine     how near they are; of equal cosines, the lower row is nearer
                   (digits that are not written decide which are among the -k)
  id, near_id      the ids of both, if there are any
  text, near_text  what was embedded, if present; --keep names other fields

A row with nothing near has no record. One record per pair suits sort, join,
jq and SQL better than one row with a list.

Duplicates and groups:

--distinct treats rows with equal texts as one, the first, so a text is not a
neighbour of its copies.

--groups links every two rows whose cosine is at least --min-cosine. Rows that
a chain of links connects are one group. Writes each row that has a link, with
the lowest row of its group and the size of the group.

Speed:

The search is exact, in blocks: 300,000 rows among 100,000 of 384 dimensions
take 23 TFLOP. --approximate searches a graph (usearch) and reports the share
of the nearest rows that it finds, measured on a sample. A single thread
builds the graph, to make it the same each time. That pays among many hundred
thousand rows, not among fewer (docs/results/clusters.md).
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.near.options import NeighborOptions


@command(
    NeighborOptions,
    memory="--memory, and the fields that are written; vectors are on disk ($TMPDIR) meanwhile",
)
def main(options: NeighborOptions, run: Run) -> None:
    from dialtools.near.groups import Groups
    from dialtools.near.neighbors import Join
    from dialtools.streams.provenance import as_metadata
    from dialtools.streams.sinks import output_format, write_batches

    kind = output_format(options.output, options.to)
    join = Join(options)
    join.read()
    told = Groups(join.queries, least=join.floor) if options.groups else join
    with run.progress(join.searched, "rows") as progress:
        write_batches(
            told.batches(progress.advance),
            options.output,
            format=kind,
            overwrite=options.overwrite,
            metadata=as_metadata(run.provenance()),
        )
    run.close(told.closing_line())

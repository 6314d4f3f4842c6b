"""dialtools neighbors - the nearest rows of embedding files: duplicates, canned replies, answers

  dialtools neighbors tickets.parquet --min-cosine 0.9
  dialtools neighbors tickets.parquet --min-cosine 0.95 --groups
  dialtools neighbors new.parquet tickets.parquet -k 3 -o found.parquet
  dialtools neighbors --vectors context,response v.parquet --distinct | head
  dial-embed --model model/ tickets.jsonl | dialtools neighbors - train.parquet

Each row of QUERIES is compared with each row of INDEX, or, without INDEX,
with all other rows of QUERIES. Out comes a record for each pair of a row and
one of its nearest, in the order of QUERIES, the nearest first: the numbers of
both rows (`row`, `near`, from 0), their cosine, and `id` and what was embedded
of both, as far as there are such (`near_id`, `near_text`; --keep names others).
Of equal cosines the lower row is nearer. A pair is a record, not a row with a
list, because sort, join, jq and SQL take it as it is; a row that nothing is
near to has none.

--distinct takes equal texts for one row, the first of them, so that a text
is no neighbour of its copies. --groups tells, for each row that another is as
near to as --min-cosine, the lowest row of its group: rows are of one group
where a chain of such pairs leads from one to the other.

The search is exact, in blocks: 300,000 rows among 100,000 of 384 dimensions
are 23 TFLOP. --approximate searches a graph (usearch), and tells what share of
the nearest it finds, on a sample. One thread makes the graph, so that it is
the same each time: that pays among many hundred thousand rows, not among
fewer (docs/results/clusters.md).
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.near.options import NeighborOptions


@command(
    NeighborOptions,
    memory="--memory, and the fields that are told; vectors lie on disk ($TMPDIR) meanwhile",
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

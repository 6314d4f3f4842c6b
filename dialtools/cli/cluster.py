"""dialtools cluster - find the intents that nobody has labelled

  dialtools cluster tickets.parquet -o rows.jsonl
  dialtools cluster --clusters 12 --stability 10 --save-summary clusters.csv \\
    tickets.parquet > rows.jsonl
  dialtools cluster --table --method hdbscan --min-size 5 tickets.parquet
  dialtools cluster --table --per dialogue --clusters 2-20 turns.parquet

Writes one record per row: which row it is, its `cluster` (0 is the largest,
-1 noise), its cosine `distance` to the centroid and, with hdbscan, its
`probability`. Vectors are scaled to unit length first. On a terminal you see
a table of the clusters instead; --save-summary writes the clusters to a file.

If you know a good number of clusters, give it: --clusters 12. With bounds the
number is searched for. The same files, options and seed give the same
clusters.

The table and --save-summary:

For each cluster they show its size, the row at its heart (medoid), the five
texts nearest to the centroid, and the words that set it apart from the other
clusters. Words are ranked by p log(p / q)^2, where p is the share of the
cluster's texts that have the word and q the share of all texts; words of a
single text come last. In scripts without blanks they are the strings of
characters that mostly stand together. The first record, without `cluster`,
describes all rows.

The number of clusters:

Of the bounds, the number with the highest mean silhouette (cosine) is taken.
Some numbers spread over the bounds are tried first, then those around the
best. kmeans tries them with one start, on at most 10,000 rows. Where intents
overlap, the silhouette favours few and round clusters. hdbscan finds two
clusters or more, or none: rows that are one dense region are all noise.

Many rows:

agglomerative and hdbscan hold all pairs of rows in memory, so they take at
most 10,000 rows. For more, --max-rows N finds clusters on a sample, and the
other rows join the nearest centroid (with hdbscan, only as far as their
cluster reaches).

Stability:

--stability N clusters N samples of four fifths of the rows again. It reports
the adjusted Rand index over all rows (1 is the same, 0 is chance) and for
each cluster the mean Jaccard index with the most similar cluster found. Below
0.6 a cluster is hardly one (Hennig 2007).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from dialtools.cli._command import command
from dialtools.cli._grid import Grid, as_screen, on_screen, show, two_digits, write_table
from dialtools.cli._run import Run
from dialtools.cluster.options import ClusterOptions
from dialtools.shown import cut
from dialtools.streams.tally import counted


@command(
    ClusterOptions,
    memory="the embedding files: 8 bytes per number; with agglomerative and "
    "hdbscan, 20 bytes more per pair of rows",
)
def main(options: ClusterOptions, run: Run) -> None:
    from dialtools.cluster.job import Clustering
    from dialtools.streams.formats import FORMATS
    from dialtools.streams.sinks import output_format

    table = options.table or (on_screen(options.output) and options.to is None)
    writes_rows = not (table and options.output == "-")
    kind = output_format(options.output, options.to) if writes_rows else ""
    with run.watching_stdin(options.files):
        clustering = Clustering(options)
    with run.progress(None, "clusterings") as progress:
        clustering.find(progress.advance)
    summed = table or options.save_summary or sys.stderr.isatty()
    records = clustering.summary() if summed else []
    if summed and clustering.rows.note:
        run.warn(clustering.rows.note)
    if options.save_summary:
        write_table(cluster_grid(records), lambda: records, run, output=options.save_summary)
    if writes_rows:  # last: who reads them may have enough
        run.write(clustering.payloads(lines=FORMATS[kind].lines), kind, clustering.counts())
    if table:
        show(cluster_grid(records), run)
    elif sys.stderr.isatty() and not run.quiet:  # where the rows are not
        sys.stderr.write(as_screen(cluster_grid(records), run, sys.stderr))
    run.close(clustering.closing_line())


def cluster_grid(records: Sequence[dict[str, Any]]) -> Grid:
    """Return a row for each cluster; what is known of all stands in the title."""
    whole, clusters = records[0], records[1:]
    numbers = {
        "rows": lambda record: f"{record['size']:,}",
        "share": lambda record: f"{record['share']:.1%}",
    }
    if any("stability" in record for record in clusters):
        numbers["stability"] = lambda record: two_digits(record.get("stability"))
    return Grid(
        head=["cluster", "words", "medoid", *numbers],
        rows=[
            [*_named(record), *(cell(record) for cell in numbers.values())] for record in clusters
        ],
        title=_title(whole),
        texts=2,
    )


def _named(record: dict[str, Any]) -> list[str]:
    """Return what tells a cluster: its number, its words, and the text of its medoid, or its id."""
    name = "noise" if record["cluster"] < 0 else str(record["cluster"])
    medoid = next(iter(record.get("nearest", ())), str(record.get("medoid", "")))
    return [name, " ".join(record.get("words", ())), cut(medoid)]


def _title(whole: dict[str, Any]) -> str:
    facts = [counted(whole["size"], "row"), counted(whole["clusters"], "cluster")]
    facts += [f"{name} {whole[name]:.2f}" for name in ("silhouette", "stability") if name in whole]
    return " · ".join(facts)

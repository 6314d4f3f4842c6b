"""dialtools drift - what is new, gone or grown between two embedding files

  dialtools drift before.parquet after.parquet
  dialtools drift --clusters 40 --to csv may.parquet june.parquet > drift.csv
  dialtools drift --per dialogue may.parquet june.parquet -o drift.md

Clusters both files together, as dialtools cluster does, and writes a record
per cluster with its share of the old and of the new file. Vectors must come
from the same model. Clusters whose share has changed significantly are:
  new     if the old share is a tenth of the new one, or less
  gone    if the new share is a tenth of the old one, or less
  grown   if otherwise larger
  shrunk  if otherwise smaller
All others are the `same`.

Small changes show only in a cluster of their own. Ask for more clusters than
you would like to read: then smaller changes become visible.

Tests:

Shares are compared by Fisher's exact test, corrected for all clusters
(--correct). The interval is Newcombe's, of the new share minus the old one.
The first record, without `cluster`, describes the files: their energy
distance, its value by chance, and the p-value of a permutation test.

Rows of one dialogue are not independent evidence. If both files have
`dialogue_id`, intervals, tests and verdicts are of the share of dialogues
with a row in the cluster (old_dialogue_share, new_dialogue_share; the table
shows these), and permutations move whole dialogues. A longer dialogue is in
more clusters: where one file has longer ones, all its shares of dialogues are
larger. You are told so; --per dialogue compares first turns instead.

Large files:

Clusters are found on at most half of --max-rows rows of each file, and the
other rows join them. The energy distance is computed on --max-tested rows of
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dialtools.cli._command import command
from dialtools.cli._grid import Grid, table_format, write_table
from dialtools.cli._run import Run
from dialtools.cluster.options import DriftOptions
from dialtools.shown import cut
from dialtools.streams.tally import counted


@command(
    DriftOptions,
    memory="the embedding files: 8 bytes per number; 16 bytes per pair of rows of --max-tested",
    reads_stdin=False,
)
def main(options: DriftOptions, run: Run) -> None:
    from dialtools.cluster.drift import Drift

    kind = table_format(options.output, options.to)
    drift = Drift(options)
    for note in drift.notes():
        run.warn(note)
    with run.progress(None, "clusterings") as progress:
        drift.find(progress.advance)
    records = drift.records()
    write_table(drift_grid(records), lambda: records, run, to=kind)
    run.close(drift.closing_line(records))


def drift_grid(records: Sequence[dict[str, Any]]) -> Grid:
    """Return a row for each cluster, those that change most first."""
    from dialtools.cluster.drift import tested_shares

    whole, clusters = records[0], records[1:]
    rows = [
        [
            record["verdict"],
            "noise" if record["cluster"] < 0 else str(record["cluster"]),
            " ".join(record.get("words", ())),
            cut(next(iter(record.get("nearest", ())), "")),
            *(f"{share:.1%}" for share in tested_shares(record)),
            f"{100 * record['low']:+.1f} – {100 * record['high']:+.1f}",
            f"{record['adjusted_p']:.2g}",
        ]
        for record in clusters
    ]
    facts = [f"{counted(whole['old'], 'row')} before, {whole['new']:,} after"]
    facts.append(f"distance {whole['distance']:.4f}, by chance {whole['chance']:.4f}")
    return Grid(
        head=[
            *("what", "cluster", "words", "a text"),
            *("before", "after", "95 % interval", "adjusted p"),
        ],
        rows=rows,
        title=" · ".join([*facts, f"p {whole['p']:.3g}"]),
        names=2,
        texts=2,
    )

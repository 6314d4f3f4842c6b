"""dialtools search - the rows of an embedding file that are nearest to a text

  dialtools search tickets.parquet "where is my card?" -k 3
  dialtools search tickets.parquet "my card is lost" "cancel it" --json
  dialtools search --distinct --model model/ tickets.parquet "cancel it"
  dialtools search --transform to-response.safetensors responses.parquet \\
    "what a customer says"

Embeds the text with the model and the options that made FILE. Parquet and
Arrow files record both. Use --model if the model has moved, or if the file
does not record it.

On a terminal you see a table. Elsewhere a JSON line per row is written:
`query`, `rank`, `cosine`, the row's number (from 0), and `id` and what was
embedded (--keep names other fields).

Each call loads the model and reads FILE. For many texts, embed them into a
file and use `dialtools neighbors`.
"""

from __future__ import annotations

from typing import Any

from dialtools.cli._command import command
from dialtools.cli._grid import Grid, write_table
from dialtools.cli._run import Run
from dialtools.errors import ConfigError
from dialtools.near.search_options import SearchOptions
from dialtools.streams.tally import anew, counted


@command(
    SearchOptions,
    memory="the model, and the fields that are written; vectors are on disk ($TMPDIR) meanwhile",
    reads_stdin=False,
)
def main(options: SearchOptions, run: Run) -> None:
    from dialtools.embed.query import query_vectors
    from dialtools.near.rows import Rows
    from dialtools.near.search import OWN, found_records
    from dialtools.streams.vectors import check_dimensions

    rows = Rows(vectors=options.vectors, keep=options.keep, distinct=options.distinct)
    rows.read(options.inputs[0])
    if options.transform and rows.answers:
        hint = f"--vectors {rows.answers[0]}"
        raise ConfigError("--transform finds responses, not their contexts", hint=hint)
    vectors_QD = query_vectors(
        options.texts, rows.made, options, model=options.model, transform=options.transform
    )
    check_dimensions(vectors_QD, rows.vectors.dimension, where=options.inputs[0])
    records = found_records(rows, options.texts, vectors_QD, options)
    write_table(_grid(records), lambda: records, run, to="jsonl" if options.json else None)
    run.close(f"{len(records):,} of {counted(len(rows), 'row')}{anew(rows.kept, OWN)}")


def _grid(records: list[dict[str, Any]]) -> Grid:
    """Return a table for people: of several texts each with its own rows."""
    several = len({record["query"] for record in records}) > 1
    own = ("rank", "row")
    names = [name for name in dict.fromkeys(n for r in records for n in r) if name != "cosine"]
    names = ["cosine", *(n for n in names if n not in (*own, "query")), "row"]
    names = ["query", *names] if several else names
    cells = [[_cell(record.get(name)) for name in names] for record in records]
    return Grid(head=names, rows=cells, names=1, texts=len(names) - 2)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)

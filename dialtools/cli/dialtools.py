"""dialtools - parts joined, models added up, negatives, near rows, clusters and classes found

  dialtools assign new.parquet --examples train.parquet --min-cosine 0.5
  dialtools center --model minilm utterances.jsonl -o centred/
  dialtools formats --kind dialogues
  dialtools gather parts/ -o pairs.arrow
  dialtools merge minilm dse*0.7 simcse*0.7 -o merged/
  dialtools mine --embeddings vectors.parquet pairs.arrow -o mined.arrow
  dialtools neighbors tickets.parquet --min-cosine 0.9
  dialtools search tickets.parquet "text about a"
  dialtools cluster --table tickets.parquet
  dialtools drift before.parquet after.parquet
  dialtools weigh --model minilm utterances.jsonl -o weighed/

The commands are dial-pairs, dial-augment, dial-freq, dial-train, dial-embed
and dial-eval; each tells more with --help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dialtools.catalog import Entry
from dialtools.cli._command import command, group
from dialtools.cli._run import Run
from dialtools.corpora.catalog import CORPORA
from dialtools.options import RunOptions, option
from dialtools.streams.formats import FORMATS, RECORD_FORMATS


def kinds() -> list[str]:
    """Return what formats hold: files of records, or the records of published corpora."""
    return ["files", *dict.fromkeys(corpus.kind for corpus in CORPORA.values())]


@dataclass
class FormatOptions(RunOptions):
    """Which formats are listed."""

    kind: str | None = option(None, choices=kinds, help="only those that hold these", shown="all")
    json: bool = option(False, help="a JSON line each", shown="when stdout is no terminal")


@command(
    FormatOptions,
    memory="none",
    name="dialtools formats",
    reads_stdin=False,
    doc="""dialtools formats - the formats that --from names

  dialtools formats
  dialtools formats --kind utterances --json

Files of records, and corpora as they were published: folders, zip and tar
archives, or single files, of which dial-pairs, dial-freq, dial-augment and
dial-embed read the records. Where files tell which corpus they are, --from is
not needed.
""",
)
def formats(options: FormatOptions, run: Run) -> None:
    from dialtools.cli._grid import Grid, write_table

    records = [record for record in format_records() if options.kind in (None, record["kind"])]
    grid = Grid(
        head=["name", "kind", "what it is", "told by, without --from"],
        rows=[[r["name"], r["kind"], r["what"], r["told by"] or "–"] for r in records],
        names=2,
        texts=2,
    )
    to = "jsonl" if options.json else None
    write_table(grid, lambda: records, output="-", to=to, overwrite=False, run=run)


def format_records() -> list[dict[str, Any]]:
    """Return all that is known of each format and corpus."""
    records: list[dict[str, Any]] = [
        {
            "name": name,
            "kind": "files",
            "what": FORMATS[name].summary,
            "told by": FORMATS[name].marks,
        }
        for name in RECORD_FORMATS
        if name not in CORPORA  # some are both, a file's and a folder's: listed once, as corpora
    ]
    for name, corpus in CORPORA.items():
        marks = [*corpus.alone, *(" + ".join(together) for together in corpus.marks)]
        marks += ["how it begins"] if corpus.opening else []
        records.append(
            {
                "name": name,
                "kind": corpus.kind,
                "what": corpus.summary,
                "told by": ", ".join(marks),
                "licence": corpus.licence,
                "source": corpus.source,
            }
        )
    return records


COMMANDS = {
    "assign": Entry("dialtools.cli.assign:main", "the nearest class of rows, or none"),
    "center": Entry("dialtools.cli.center:main", "take the mean of a log's vectors off a model's"),
    "formats": Entry(
        "dialtools.cli.dialtools:formats", "the formats and published corpora that can be read"
    ),
    "gather": Entry("dialtools.cli.gather:main", "join the parts that --shard made"),
    "merge": Entry("dialtools.cli.merge:main", "add up what models learnt from one start"),
    "mine": Entry("dialtools.cli.mine:main", "find hard negatives of pairs"),
    "neighbors": Entry("dialtools.cli.neighbors:main", "the nearest rows of embedding files"),
    "search": Entry("dialtools.cli.search:main", "the rows that are nearest to a text"),
    "cluster": Entry("dialtools.cli.cluster:main", "find the intents that nobody has labelled"),
    "drift": Entry("dialtools.cli.drift:main", "what is new, gone or grown between two files"),
    "weigh": Entry("dialtools.cli.weigh:main", "let a model's rare tokens count more"),
}
main = group(__doc__ or "", COMMANDS)

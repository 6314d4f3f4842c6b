"""dialtools - tools for embedding files, models and pairs

  dialtools cluster --table tickets.parquet
  dialtools search tickets.parquet "where is my card?"
  dialtools assign new.parquet --examples train.parquet --min-cosine 0.5
  dialtools drift before.parquet after.parquet
  dialtools weigh --model minilm utterances.jsonl -o weighted/
  dialtools formats --kind dialogues

The other commands of the suite are dial-pairs, dial-augment, dial-freq,
dial-train, dial-embed and dial-eval. Each has its own --help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dialtools.catalog import Entry
from dialtools.cli._command import Group, command
from dialtools.cli._run import Run
from dialtools.corpora.catalog import CORPORA
from dialtools.options import RunOptions, option
from dialtools.streams.formats import FORMATS, RECORD_FORMATS

KINDS = ("files", *dict.fromkeys(corpus.kind for corpus in CORPORA.values()))
"""What formats hold: files of records, or the records of published corpora."""


@dataclass
class FormatOptions(RunOptions):
    """Which formats are listed."""

    kind: str | None = option(
        None, choices=KINDS, help="list only formats of this kind", shown="all"
    )
    json: bool = option(False, help="write a JSON line each", shown="when stdout is not a terminal")


@command(
    FormatOptions,
    memory="none",
    reads_stdin=False,
    doc="""dialtools formats - list the formats that --from accepts

  dialtools formats
  dialtools formats --kind utterances --json

Lists the formats of record files, and the published corpora that can be read
as they come: folders, zip and tar archives, or single files. dial-pairs,
dial-freq, dial-augment and dial-embed read them. You need --from only where
the files do not show which format or corpus they are.
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
    write_table(grid, lambda: records, run, to=to)


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
    "cluster": Entry("dialtools.cli.cluster:main", "find the intents that nobody has labelled"),
    "drift": Entry("dialtools.cli.drift:main", "tell what is new, gone or grown between two files"),
    "search": Entry("dialtools.cli.search:main", "find the rows that are nearest to a text"),
    "neighbors": Entry("dialtools.cli.neighbors:main", "find the nearest rows of embedding files"),
    "assign": Entry("dialtools.cli.assign:main", "route rows to their nearest class, or to none"),
    "weigh": Entry("dialtools.cli.weigh:main", "let a model's rare tokens count more"),
    "center": Entry(
        "dialtools.cli.center:main", "subtract the mean of a log's vectors from a model's"
    ),
    "merge": Entry("dialtools.cli.merge:main", "add up what models learnt from the same start"),
    "cut": Entry("dialtools.cli.cut:main", "keep the first layers of a model alone"),
    "mine": Entry("dialtools.cli.mine:main", "find hard negatives of pairs"),
    "gather": Entry("dialtools.cli.gather:main", "join the parts that --shard wrote"),
    "formats": Entry(
        "dialtools.cli.dialtools:formats", "list the formats and published corpora that can be read"
    ),
}
VERBS = ("pairs", "augment", "freq", "train", "embed", "eval")
SCORES = ("compare", "curve", "finetune", "intent", "plot", "retrieve", "space", "suite")
OTHERS = {verb: f"dial-{verb}" for verb in VERBS}
main = Group(__doc__ or "", COMMANDS, OTHERS | {task: f"dial-eval {task}" for task in SCORES})


if __name__ == "__main__":
    main()

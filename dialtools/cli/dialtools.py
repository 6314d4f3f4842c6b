"""dialtools - what the suite knows

  dialtools formats
  dialtools formats --kind dialogues

The commands are dial-pairs, dial-augment, dial-freq, dial-train, dial-embed and dial-eval; each tells more with --help.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.catalog import Entry
from dialtools.cli._command import command, group
from dialtools.cli._run import Run
from dialtools.options import RunOptions, option


@dataclass
class FormatOptions(RunOptions):
    """Which formats are listed."""

    kind: str | None = option(
        None,
        choices=("files", "dialogues", "utterances", "two texts", "responses"),
        help="only those that hold these",
        shown="all",
    )
    json: bool = option(
        False, help="a JSON line each", shown="when stdout is no terminal", how=True
    )


@command(
    FormatOptions,
    memory="none",
    name="dialtools formats",
    reads_stdin=False,
    doc="""dialtools formats - the formats that --from names

  dialtools formats
  dialtools formats --kind utterances --json

Files of records, and corpora as they were published: folders, zip and tar archives, or single files, of which dial-pairs,
dial-freq, dial-augment and dial-embed read the records. Where files tell which corpus they are, --from is not needed.
""",
)
def formats(options: FormatOptions, run: Run) -> None:
    import sys

    from dialtools.corpora.catalog import CORPORA, FILES

    rows = [
        {"name": name, "kind": "files", "what": what, "told by": told}
        for name, (what, told) in FILES.items()
    ]
    for name, corpus in CORPORA.items():
        told = [*corpus.alone, *(" + ".join(together) for together in corpus.marks)]
        rows.append(
            {
                "name": name,
                "kind": corpus.kind,
                "what": corpus.summary,
                "told by": ", ".join(told),
                "licence": corpus.licence,
                "source": corpus.source,
            }
        )
    rows = [row for row in rows if options.kind in (None, row["kind"])]
    if options.json or not sys.stdout.isatty():
        import orjson

        sys.stdout.buffer.write(
            b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
        )
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "name",
        "kind",
        "what it is",
        "told by, without --from",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for row in rows:
        table.add_row(row["name"], row["kind"], row["what"], row["told by"] or "–")
    Console(no_color=not run.colored, highlight=False).print(table)


COMMANDS = {
    "formats": Entry(
        "dialtools.cli.dialtools:formats", "the formats and published corpora that can be read"
    )
}
main = group(__doc__ or "", COMMANDS)

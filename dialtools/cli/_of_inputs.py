"""What each input of dial-pairs gives, to a person or a machine: a table, or records."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from dialtools.cli._grid import Grid, on_screen, show
from dialtools.cli._run import Run
from dialtools.pairs.options import PairOptions
from dialtools.shown import listed
from dialtools.streams.chunks import Chunk
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

SCHEMA = "dialtools.pairs/1"
HEAD = ("dialogues", "turns", "of one speaker", "pairs", "kept", "dropped")
"""What stands above the figures of an input; the third is the share of neighbouring turns."""


def report_inputs(options: PairOptions, run: Run) -> None:
    """Make the pairs, write none, and tell of each input what came of it."""
    from dialtools.pairs.job import mine
    from dialtools.pairs.output import closing_line
    from dialtools.streams.bytesio import display_name
    from dialtools.streams.sinks import write_records

    tally, by_name = Tally(), dict[str, Tally]()
    of_input = {display_name(path): Tally() for path in options.files}
    with run.policy() as policy, run.progress(None, "pairs") as progress:
        chunks = _chunks(options, policy, of_input)
        pieces = mine(chunks, options, lines=True, policy=policy, tally=tally, of_input=by_name)
        for piece in pieces:
            progress.advance(piece.rows)
    for own in of_input.values():
        tally.merge(own)
    for name, own in by_name.items():
        of_input.setdefault(_input_of(name, of_input), Tally()).merge(own)
    records = [_record(name, own) for name, own in of_input.items()]
    if len(records) != 1:
        records.append(_record("all", tally))
    if on_screen(options.output) and not (options.json or options.to):
        show(_grid(records), run)
    else:
        write_records(records, options.output, to=options.to, overwrite=options.overwrite)
    run.close(closing_line(options, tally))


def _chunks(options: PairOptions, policy: Policy, of_input: dict[str, Tally]) -> Iterator[Chunk]:
    """Yield the chunks of the inputs in turn; what is left out before pairs are made counts apart.

    The inputs of --kind triple are read together, and count as the last of them.
    """
    from dialtools.pairs.job import input_chunks
    from dialtools.streams.bytesio import display_name

    together = options.kind == "triple"
    for paths in [options.files] if together else [(path,) for path in options.files]:
        own = of_input[display_name(paths[-1])]
        yield from input_chunks(replace(options, inputs=paths), policy, own, prompt=False)


def _input_of(name: str, inputs: Collection[str]) -> str:
    """Return the input that a file, or a part of one, is of: it may be a folder or an archive."""
    within = (p for p in inputs if name == p or name.startswith((f"{p.rstrip('/')}/", f"{p}:")))
    return max(within, key=len, default=name)


def _record(name: str, own: Tally) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "corpus": name,
        "dialogues": own.sources,
        **{name: own.facts[name] for name in ("turns", "neighbours", "same_speaker", "pairs")},
        "kept": own.kept,
        # Parquet has no type for objects without a field
        "dropped": dict(own.dropped.most_common()) or None,
    }


def _grid(records: list[dict[str, Any]]) -> Grid:
    rows = []
    for record in records:
        share = record["same_speaker"] / max(1, record["neighbours"])
        reasons = [f"{n:,} {reason}" for reason, n in (record["dropped"] or {}).items()]
        numbers = (f"{record[name]:,}" for name in ("dialogues", "turns"))
        made = (f"{record[name]:,}" for name in ("pairs", "kept"))
        rows.append([record["corpus"], *numbers, f"{share:.1%}", *made, listed(reasons)])
    return Grid(head=["corpus", *HEAD], rows=rows)

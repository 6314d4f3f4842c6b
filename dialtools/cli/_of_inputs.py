"""What each input of dial-pairs gives, to a person or a machine: a table, or records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dialtools.cli._grid import Grid, on_screen, show
from dialtools.cli._run import Run
from dialtools.pairs.options import PairOptions
from dialtools.shown import listed
from dialtools.streams.bytesio import display_name
from dialtools.streams.tally import Tally

SCHEMA = "dialtools.pairs/1"
HEAD = ("dialogues", "turns", "of one speaker", "pairs", "kept", "dropped")
"""What stands above the figures of an input; the third is the share of neighbouring turns."""


def report_inputs(options: PairOptions, run: Run) -> None:
    """Make the pairs, write none, and tell of each input what came of it."""
    from dialtools.pairs.job import input_chunks, mine
    from dialtools.pairs.output import closing_line
    from dialtools.streams.sinks import write_records

    tally, by_name = Tally(), dict[str, Tally]()
    with run.policy() as policy, run.progress(None, "pairs") as progress:
        chunks = input_chunks(options, policy, tally, prompt=False)
        pieces = mine(chunks, options, lines=True, policy=policy, tally=tally, of_input=by_name)
        for piece in pieces:
            progress.advance(piece.rows)
    records = [_record(name, own) for name, own in _of_inputs(by_name, options.inputs).items()]
    if len(records) != 1:
        records.append(_record("all", tally))
    if on_screen(options.output) and not options.json:
        show(_grid(records), run)
    else:
        write_records(records, options.output, to=options.to, overwrite=options.overwrite)
    run.close(closing_line(options, tally))


def _of_inputs(by_name: dict[str, Tally], inputs: Sequence[str]) -> dict[str, Tally]:
    """Return the counts of each input; the files of a folder or an archive are one."""
    together: dict[str, Tally] = {}
    for name, own in by_name.items():
        within = (
            called
            for called in map(display_name, inputs)  # not by where a copy of it lies
            if name == called or name.startswith(f"{called.rstrip('/')}/")
        )
        together.setdefault(max(within, key=len, default=name), Tally()).merge(own)
    return together


def _record(name: str, own: Tally) -> dict[str, Any]:
    facts = own.facts
    return {
        "schema": SCHEMA,
        "corpus": name,
        "dialogues": own.sources,
        "turns": facts["turns"],
        "neighbours": facts["neighbours"],
        "same_speaker": facts["same_speaker"],
        "pairs": facts["pairs"],
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

"""What each input of dial-pairs gives, to a person or a machine: a table, or records."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from dialtools.cli._grid import Grid, on_screen, show
from dialtools.cli._run import Run
from dialtools.pairs.options import PairOptions
from dialtools.shown import listed
from dialtools.streams.chunks import Chunk
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

Input = tuple[str, Tally]
"""What an input is called, and what is counted of it."""
SCHEMA = "dialtools.pairs/1"
HEAD = ("dialogues", "turns", "of one speaker", "pairs", "kept", "dropped")
"""What stands above the figures of an input; the third is the share of neighbouring turns."""


def report_inputs(options: PairOptions, run: Run) -> None:
    """Make the pairs, write none, and tell of each input what came of it."""
    from dialtools.corpora.names import ALL, corpus_names
    from dialtools.pairs.job import mine
    from dialtools.pairs.output import closing_line
    from dialtools.streams.bytesio import display_name
    from dialtools.streams.sinks import write_records

    inputs, every = [(display_name(path), Tally()) for path in options.files], Tally()
    whose: deque[Tally] = deque()
    with run.policy() as policy, run.progress(None, "pairs") as progress:
        chunks = _chunks(options, policy, inputs, whose)
        of_input = whose.popleft
        for piece in mine(
            chunks, options, lines=True, policy=policy, tally=Tally(), of_input=of_input
        ):
            progress.advance(piece.rows)
    for _, own in inputs:
        every.merge(own)
    names = corpus_names([path for path, _ in inputs])
    records = [_record(name, own) for name, (_, own) in zip(names, inputs, strict=True)]
    if len(records) != 1:
        records.append(_record(ALL, every))
    if on_screen(options.output) and not (options.json or options.to):
        show(_grid(records), run)
    else:
        write_records(records, options.output, to=options.to, overwrite=options.overwrite)
    run.close(closing_line(options, every))


def _chunks(
    options: PairOptions, policy: Policy, inputs: Sequence[Input], whose: deque[Tally]
) -> Iterator[Chunk]:
    """Yield the chunks of the inputs in turn; what is left out before pairs are made counts apart.

    The inputs of --kind triple are read together; there that counts for the last of them.

    Args:
        whose: receives the tally of the input that each chunk is of.
    """
    from dialtools.pairs.job import input_chunks

    together = options.kind == "triple"
    for places in [slice(None)] if together else [slice(i, i + 1) for i in range(len(inputs))]:
        some = replace(options, inputs=options.files[places])
        for chunk in input_chunks(some, policy, inputs[places][-1][1], prompt=False):
            whose.append(_of(chunk.name, inputs[places]))
            yield chunk


def _of(name: str, inputs: Sequence[Input]) -> Tally:
    """Return the tally of the input that a file, or a part of one, is of.

    An input may be a folder or an archive.
    """
    within = [
        (len(path), own)
        for path, own in inputs
        if name == path or name.startswith((f"{path.rstrip('/')}/", f"{path}:"))
    ]
    return max(within, key=itemgetter(0), default=inputs[-1])[1]


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

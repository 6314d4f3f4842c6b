"""Chunks of dialogues in, pieces of the output out: what the parent of the workers does.

pyarrow is imported where batches are made: JSON lines in and out do without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dialtools.corpora.read import dialogue_chunks, record_chunks
from dialtools.pairs.answers import pair_chunks, render_chunk
from dialtools.pairs.chunk import mine_chunk
from dialtools.pairs.convert import convert_chunk
from dialtools.pairs.labelled import triple_chunks
from dialtools.pairs.labels import same_label_chunks
from dialtools.pairs.options import OF_TEXTS, RECORDS, PairOptions
from dialtools.pairs.render import Lines, Mined
from dialtools.streams.chunks import Chunk
from dialtools.streams.parallel import ordered_map
from dialtools.streams.pipes import stdin_has_more
from dialtools.streams.policy import Policy, Rejected
from dialtools.streams.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa


class Piece(NamedTuple):
    """What is to be written next: JSON lines or an Arrow batch, for a part of the split."""

    part: str
    payload: Any
    rows: int


def input_chunks(
    options: PairOptions, policy: Policy, tally: Tally, *, prompt: bool
) -> Iterator[Chunk]:
    """Return the chunks of the inputs, as --kind reads them.

    Args:
        prompt: hand on what a pipe has, rather than wait for a full chunk.
    """
    if options.kind == "triple":
        return triple_chunks(options, policy, tally)
    if options.kind == "same-label":
        return same_label_chunks(options, policy, tally)
    if options.kind in OF_TEXTS:
        return record_chunks(
            options.inputs,
            format=options.from_,
            policy=policy,
            column=None,
            shard=options.part,
            logs=options,
        )
    chunks = dialogue_chunks(
        options.inputs,
        format=options.from_,
        logs=options,
        policy=policy,
        tally=tally,
        prompt=prompt,
        keep=options.kind in RECORDS,
        shard=options.part,
    )
    if options.kind == "same-answer":
        return pair_chunks(chunks, options, policy, tally)
    return chunks


def mine(
    chunks: Iterable[Chunk],
    options: PairOptions,
    *,
    lines: bool,
    policy: Policy,
    tally: Tally,
    of_input: Callable[[], Tally] = Tally,
) -> Iterator[Piece]:
    """Yield the pieces of the output in the order of the input.

    Holds jobs + 2 chunks, and with --distinct or --kind self 16 bytes for each distinct pair.

    Args:
        lines: pairs as JSON lines, not Arrow batches; records (--kind dialogue) are always lines.
        tally: receives the counts of kept and dropped pairs, and of dialogues.
        of_input: gives, chunk after chunk, the tally that receives those of its input.
    """
    seen: set[bytes] = set()
    ready = stdin_has_more if options.inputs in ((), ("-",)) else lambda: True
    work = _worker(options, lines=lines)
    for mined in ordered_map(work, chunks, jobs=options.jobs, ready=ready):
        own = of_input()
        for counts in (tally, own):
            counts.merge(mined.tally)
        rows = _new_rows(mined, seen)
        doubled = len(mined.parts) - len(rows)
        rows = rows[: None if options.limit is None else options.limit - tally.kept]
        for counts in (tally, own):
            counts.drop("duplicate", doubled)
            counts.keep(len(rows))
        policy.replay(_met(mined, rows, enough=tally.kept == options.limit))
        is_kept = np.zeros(len(mined.parts), bool)
        is_kept[rows] = True
        for number, (part, payload) in enumerate(mined.payloads.items()):
            own_rows = np.flatnonzero(is_kept[mined.parts == number])
            yield Piece(part, _take(payload, own_rows), len(own_rows))
        if tally.kept == options.limit:
            return


def _worker(options: PairOptions, *, lines: bool) -> Callable[[Chunk], Mined]:
    """Return what a worker does to a chunk."""
    if options.kind in RECORDS:
        return partial(convert_chunk, options=options)
    if options.kind == "same-answer":
        return partial(render_chunk, options=options, lines=lines)
    return partial(mine_chunk, options=options, lines=lines)


def _met(mined: Mined, rows: np.ndarray, *, enough: bool) -> list[Rejected]:
    """Return the bad records of a chunk, of enough pairs those before the last pair alone."""
    last = rows[-1] if len(rows) else -1
    return [
        bad
        for bad, ahead in zip(mined.rejected, mined.ahead, strict=True)
        if ahead <= last or not enough
    ]


def _new_rows(mined: Mined, seen: set[bytes]) -> np.ndarray:
    """Return the pairs whose digest nobody has seen; all of them where none were taken."""
    if mined.digests is None:
        return np.arange(len(mined.parts))
    rows = []
    for row, digest in enumerate(mined.digests):
        if digest not in seen:
            seen.add(digest)
            rows.append(row)
    return np.asarray(rows, np.int64)


def _take(payload: Any, rows: np.ndarray) -> Any:
    """Return the rows of a payload as what a writer takes: bytes, or a batch."""
    whole = len(rows) == payload.num_rows
    if isinstance(payload, Lines):
        return (payload if whole else payload.take(rows)).blob
    return payload if whole else _rows_of_batch(payload, rows)


def _rows_of_batch(batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    import pyarrow as pa

    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_list_view(column.type):  # views only: the texts stay where they are
            offsets = pa.array(np.asarray(column.offsets)[rows], pa.int32())
            sizes = pa.array(np.asarray(column.sizes)[rows], pa.int32())
            columns[name] = pa.ListViewArray.from_arrays(offsets, sizes, column.values)
        else:
            columns[name] = column.take(pa.array(rows))
    return pa.RecordBatch.from_pydict(columns)

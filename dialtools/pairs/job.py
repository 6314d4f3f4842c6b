"""Chunks of dialogues in, chunks of pairs out: what a worker does, and what its parent does with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from dialtools.chance import split_of
from dialtools.corpora.dialogues import Dialogue
from dialtools.corpora.read import dialogues
from dialtools.pairs.convert import convert_chunk
from dialtools.pairs.filters import identity, kept
from dialtools.pairs.options import RECORDS, PairOptions
from dialtools.pairs.reader import READERS
from dialtools.pairs.render import Lines, Mined, as_batch, as_lines
from dialtools.pairs.windows import FlatTurns, Pairs, selves, windowed
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.parallel import ordered_map
from dialtools.streams.policy import Collecting, Policy, Where
from dialtools.streams.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa


def mine(
    chunks: Iterable[Chunk], options: PairOptions, *, lines: bool, policy: Policy, tally: Tally
) -> Iterator[tuple[str, Any]]:
    """Yield (part, JSON lines or Arrow batch) in the order of the input; records of --kind dialogue are always lines.

    Holds jobs + 2 chunks, and with --dedupe or --kind self 16 bytes for each distinct pair.

    Args:
        tally: receives the counts of kept and dropped pairs, and of dialogues.
    """
    seen: set[bytes] = set()
    work = (
        partial(convert_chunk, options=options)
        if options.kind in RECORDS
        else partial(mine_chunk, options=options, lines=lines)
    )
    results = ordered_map(work, chunks, jobs=options.jobs)
    for mined in results:
        policy.replay(mined.rejected)
        tally.merge(mined.tally)
        tally.dialogues = getattr(tally, "dialogues", 0) + mined.dialogues
        for part, payload in mined.payloads.items():
            rows = (
                _unseen(mined.digests[part], seen)
                if part in mined.digests
                else np.arange(payload.num_rows)
            )
            tally.drop("duplicate", payload.num_rows - len(rows))
            if options.limit is not None and tally.kept + len(rows) >= options.limit:
                rows = rows[: options.limit - tally.kept]
                tally.keep(len(rows))
                yield part, _take(payload, rows)
                return
            tally.keep(len(rows))
            yield part, _take(payload, rows)


def _take(payload: Any, rows: np.ndarray) -> Any:
    """Return the rows of a payload as what a writer takes: bytes, or a batch."""
    if isinstance(payload, Lines):
        return (payload if len(rows) == payload.num_rows else payload.take(rows)).blob
    return payload if len(rows) == payload.num_rows else _taken(payload, rows)


def _taken(batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    import pyarrow as pa

    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_list_view(column.type):  # views only: the texts stay where they are
            offsets, sizes = (
                pa.array(np.asarray(part)[rows], pa.int32())
                for part in (column.offsets, column.sizes)
            )
            columns[name] = pa.ListViewArray.from_arrays(offsets, sizes, column.values)
        else:
            columns[name] = column.take(pa.array(rows))
    return pa.RecordBatch.from_pydict(columns)


def _unseen(digests: list[bytes], seen: set[bytes]) -> np.ndarray:
    rows = []
    for row, digest in enumerate(digests):
        if digest not in seen:
            seen.add(digest)
            rows.append(row)
    return np.asarray(rows, np.int64)


def mine_chunk(chunk: Chunk, *, options: PairOptions, lines: bool) -> Mined:
    """Return the pairs of one chunk; runs in a worker."""
    policy, tally = Collecting(), Tally()
    turns, pairs = _PAIRS[options.kind](chunk, options, policy, tally)
    pairs = kept(pairs, turns, options, tally)
    render = as_lines if lines else as_batch
    payloads, digests = {}, {}
    for part, members in _parts(pairs, turns, options, tally):
        payloads[part] = render(members, turns, options.kind, options.follow)
        if options.dedupe or options.kind == "self":
            digests[part] = _digests(members, turns)
    return Mined(payloads, digests, tally, len(turns.sizes), policy.rejected)


def _parts(
    pairs: Pairs, turns: FlatTurns, options: PairOptions, tally: Tally
) -> Iterator[tuple[str, Pairs]]:
    if not options.split:
        yield "", pairs
        return
    shares = {name: float(size) for name, size in (part.split("=") for part in options.split)}
    names = [
        split_of(options.uncut(identity(turns, d)), shares, seed=options.seed)
        for d in range(len(turns.sizes))
    ]
    part = np.asarray([name or "" for name in names], object)[pairs.dialogue]
    tally.drop("outside the split", int((part == "").sum()))
    yield from ((name, pairs.where(part == name)) for name in shares)


def _digests(pairs: Pairs, turns: FlatTurns) -> list[bytes]:
    texts = turns.texts
    columns = zip(pairs.start.tolist(), pairs.end.tolist(), pairs.response.tolist(), strict=True)
    keys = (
        "\0".join([*texts[s:e], texts[r]]).encode("utf-8", "surrogatepass") for s, e, r in columns
    )
    return [blake2b(key, digest_size=16).digest() for key in keys]


def _from_dialogues(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> tuple[FlatTurns, Pairs]:
    turns, read = FlatTurns(), READERS[options.reader]
    for line, dialogue in dialogues(
        chunk, policy, options, tally, utterances=options.kind == "self"
    ):
        if options.reader != "plain":
            dialogue = read(dialogue)
        if options.merge_speaker:
            dialogue = merged(dialogue)
        if options.lower:
            dialogue = dialogue._replace(texts=[text.lower() for text in dialogue.texts])
        if len(dialogue.texts) < options.min_turns:
            tally.drop("in dialogues of too few turns", max(0, len(dialogue.texts) - 1))
            continue
        turns.add(dialogue, line)
    return turns, selves(turns) if options.kind == "self" else windowed(turns, options.window)


def merged(dialogue: Dialogue) -> Dialogue:
    """Join consecutive turns of one speaker with a blank (DialogueCSE 5.1.1); unknown speakers stay apart."""
    texts: list[str] = []
    speakers: list[str | None] = []
    for text, speaker in zip(dialogue.texts, dialogue.speakers, strict=True):
        if speakers and speaker is not None and speakers[-1] == speaker:
            texts[-1] = f"{texts[-1]} {text}".strip()
        else:
            texts.append(text)
            speakers.append(speaker)
    return Dialogue(dialogue.id, texts, speakers)


PREMISE = ("premise", "text1", "sentence1")
HYPOTHESIS = ("hypothesis", "text2", "sentence2")
LABEL = ("label", "gold_label")


def _from_entailment(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> tuple[FlatTurns, Pairs]:
    """Premise and hypothesis of records labelled entailment (positive, of Dialogue NLI), as two turns (DSE-dianli)."""
    turns = FlatTurns()
    for line, record in records(chunk, policy):
        values = [
            next((record[k] for k in keys if k in record), None)
            for keys in (PREMISE, HYPOTHESIS, LABEL)
        ]
        if not all(isinstance(value, str) for value in values):
            policy.reject(
                Where(chunk.name, line),
                "expected strings premise, hypothesis and label",
                repr(record).encode(),
            )
        elif values[2].lower() not in ("entailment", "positive"):
            tally.drop(f"labelled {values[2]}")
        else:
            texts = [v.strip().lower() if options.lower else v.strip() for v in values[:2]]
            identity = record.get("id")
            turns.add(
                Dialogue(None if identity is None else str(identity), texts, [None, None]), line
            )
    return turns, windowed(turns, (1,))


_PAIRS = {"consecutive": _from_dialogues, "self": _from_dialogues, "entailment": _from_entailment}

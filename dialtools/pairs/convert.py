"""Dialogues as records of one shape, or their turns as utterances; no pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dialtools.chance import share, split_of
from dialtools.corpora import fields
from dialtools.corpora.dialogues import HISTORY, RESPONSE, field_of_turns, known_by, uncut, whose
from dialtools.corpora.fields import FIRST, SECOND, BadRecord
from dialtools.corpora.logs import probe, shown
from dialtools.corpora.read import dialogue_records
from dialtools.corpora.shape import Session, holds_turns
from dialtools.corpora.utterances import utterance
from dialtools.pairs.options import PairOptions
from dialtools.pairs.render import Lines, Mined, ahead
from dialtools.streams.chunks import ROWS, Chunk, records
from dialtools.streams.policy import Collecting, Policy, Where
from dialtools.streams.sinks import json_line
from dialtools.streams.tally import Tally

Record = dict[str, Any]
Members = tuple[int, str, list[Record], int]
"""Where a dialogue begins, what it is known by, the records that it becomes, and which session it
is."""


def convert_chunk(chunk: Chunk, *, options: PairOptions) -> Mined:
    """Return the dialogues, or the turns, of one chunk; runs in a worker."""
    policy = Collecting()
    tally = Tally()
    lines: dict[str, list[bytes]] = {part: [] for part in options.shares or ("",)}
    numbers = {part: number for number, part in enumerate(lines)}
    parts: list[int] = []
    begins: list[int] = []
    for line, identity, members, session in _KINDS[options.kind](chunk, options, policy, tally):
        tally.sources += 1
        part = ""
        if options.shares:
            part = split_of(uncut(identity, session), options.shares, seed=options.seed)
        if part is None:
            tally.drop("outside the split", len(members))
        elif not _is_sampled(identity, options):
            tally.drop("not sampled", len(members))
        else:
            lines[part] += map(json_line, members)
            parts += [numbers[part]] * len(members)
            begins += [line] * len(members)
    payloads = {part: Lines(b"".join(members), len(members)) for part, members in lines.items()}
    before = ahead(policy.rejected, np.array(begins, np.int64))
    numbers_P = np.array(parts, np.int64)
    return Mined(payloads, numbers_P, None, tally, policy.rejected, before)


def _is_sampled(identity: str, options: PairOptions) -> bool:
    if options.sample is None:
        return True
    # a name of its own, so that the draw does not depend on that of --split
    return share(f"{identity}\tdialogue", seed=options.seed) < options.sample


def _talks(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> Iterator[tuple[int, str, Session]]:
    """Yield where each dialogue begins, what it is known by, and its record."""
    for line, talk in dialogue_records(chunk, policy, options, tally):
        record = talk.record
        turns = record["turns"]
        probe((turn["text"] for turn in turns), tally, plain=chunk.plain)
        if len(turns) < options.min_turns or not turns:
            tally.drop("of too few turns")
        else:
            record["turns"] = turns[: options.first]
            tally.drop("turns beyond --first", len(turns) - len(record["turns"]))
            identity = known_by(record.get("id"), (turn["text"] for turn in turns))
            yield line, identity, talk


def _dialogues(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> Iterator[Members]:
    """Yield each dialogue as its record."""
    for line, identity, talk in _talks(chunk, options, policy, tally):
        yield line, identity, [talk.record], talk.number


def _utterances(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> Iterator[Members]:
    """Yield each dialogue as a record a turn.

    A record that is an utterance, two texts or a response stands for itself.
    """
    if chunk.plain:
        yield from _turns(chunk, options, policy, tally)
        return
    for number, record in records(chunk, policy):
        if holds_turns(record):
            alone = Chunk(chunk.name, number, ROWS, [record])
            yield from _turns(alone, options, policy, tally)
            continue
        try:
            name, made = _standing_alone(shown(record, options.reading))
        except BadRecord as error:
            policy.reject(Where(chunk.name, number), str(error), record)
        else:
            probe((made.get("text"),), tally)
            yield number, name, [made], 1


def _standing_alone(record: Record) -> tuple[str, Record]:
    """Return what a record is known by, and the record: of an utterance in one shape.

    Raises:
        BadRecord: if it is neither an utterance, nor two texts, nor a response with its history.
    """
    if HISTORY in record and RESPONSE in record:
        _, turns = field_of_turns(record)
        fields.turns(turns, HISTORY)
        return known_by(whose(record), [record[RESPONSE]]), record
    pair = [key for keys in (FIRST, SECOND) for key in keys if key in record]
    if len(pair) == 2:
        for key in pair:
            fields.text(record[key], key)
        return known_by(whose(record), [record[key] for key in pair]), record
    text, spans, rest = utterance(record)
    marked = {} if spans is None else {"slots": [span._asdict() for span in spans]}
    return known_by(whose(rest), [text]), {"text": text, **marked, **rest}


def _turns(chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally) -> Iterator[Members]:
    """Yield the turns of each dialogue, each once, with the fields that the dialogue has."""
    for line, identity, talk in _talks(chunk, options, policy, tally):
        record = talk.record
        shared = {key: value for key, value in record.items() if key not in ("id", "turns")}
        if "id" in record:
            shared["dialogue_id"] = record["id"]
        turns = [{**shared, "turn": i, **turn} for i, turn in enumerate(record["turns"])]
        yield line, identity, turns[talk.again :], talk.number


_KINDS = {"dialogue": _dialogues, "utterance": _utterances}

"""Dialogues as records of one shape, or their turns as utterances; no pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from dialtools.chance import share, split_of
from dialtools.corpora.dialogues import TURN_KEYS
from dialtools.corpora.read import dialogue_records
from dialtools.corpora.utterances import BadUtterance, utterance
from dialtools.pairs.options import PairOptions
from dialtools.pairs.render import Lines, Mined
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.policy import Collecting, Policy, Where
from dialtools.streams.tally import Tally

Record = dict[str, Any]


def convert_chunk(chunk: Chunk, *, options: PairOptions) -> Mined:
    """Return the dialogues, or the turns, of one chunk; runs in a worker."""
    policy, tally, found = Collecting(), Tally(), 0
    shares = {name: float(size) for name, size in (part.split("=") for part in options.split)}
    lines: dict[str, list[bytes]] = {name: [] for name in shares or ("",)}
    for identity, members in _KINDS[options.kind](chunk, options, policy, tally):
        found += 1
        part = split_of(options.uncut(identity), shares, seed=options.seed) if shares else ""
        if part is None:
            tally.drop("outside the split", len(members))
        elif options.sample and share(f"{identity}\tdialogue", seed=options.seed) >= options.sample:
            tally.drop("not sampled", len(members))
        else:
            lines[part] += [
                orjson.dumps(member, default=str, option=orjson.OPT_APPEND_NEWLINE)
                for member in members
            ]
    payloads = {part: Lines(b"".join(members), len(members)) for part, members in lines.items()}
    return Mined(payloads, {}, tally, found, policy.rejected)


def _dialogues(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> Iterator[tuple[str, list[Record]]]:
    """Yield what a dialogue is known by, and its record."""
    for _, record in dialogue_records(chunk, policy, options, tally):
        turns = record["turns"]
        if len(turns) < options.min_turns or not turns:
            tally.drop("of too few turns")
        else:
            yield record.get("id") or "\n".join(turn["text"] for turn in turns), [record]


def _utterances(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> Iterator[tuple[str, list[Record]]]:
    """Yield what a dialogue is known by, and a record for each turn; a record that is an utterance stands for itself."""
    for number, record in [(0, None)] if chunk.format == "text" else records(chunk, policy):
        part = chunk if record is None else Chunk(chunk.name, number, "rows", [record])
        if record is None or any(key in record for key in TURN_KEYS):
            for identity, (talk,) in _dialogues(part, options, policy, tally):
                about = {key: value for key, value in talk.items() if key not in ("id", "turns")}
                place = {"dialogue_id": talk["id"]} if "id" in talk else {}
                yield (
                    identity,
                    [{**about, **place, "turn": i, **turn} for i, turn in enumerate(talk["turns"])],
                )
            continue
        try:
            text, spans, about = utterance(record)
        except BadUtterance as error:
            policy.reject(Where(chunk.name, number), str(error), orjson.dumps(record, default=str))
        else:
            marked = {} if spans is None else {"slots": [span._asdict() for span in spans]}
            yield str(about.get("id", text)), [{"text": text, **marked, **about}]


_KINDS = {"dialogue": _dialogues, "utterance": _utterances}

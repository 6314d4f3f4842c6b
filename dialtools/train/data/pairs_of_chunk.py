"""Pair records of a chunk, checked one by one, or all at once where they come as columns."""

from __future__ import annotations

from math import nan
from typing import Any, NamedTuple

import numpy as np

from dialtools.corpora.dialogues import DOMAIN, identity_of
from dialtools.corpora.fields import PAIR, BadRecord, check, text, text_of_turn
from dialtools.corpora.pair_columns import pair_columns
from dialtools.roles import role_of
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.policy import Policy, Where
from dialtools.train.data.chunk_pairs import LISTS, UNKNOWN_TURN, ChunkPairs, TurnLists
from dialtools.train.data.pairs_of_batch import is_columnar, pairs_of_batch

MADE_OF = "dial-pairs makes them of dialogues, dial-pairs --kind texts of questions and answers"


def read_pairs(chunk: Chunk, policy: Policy) -> ChunkPairs:
    """Return the pairs of a chunk; records that are no pairs go to the policy."""
    batch = chunk.data if chunk.columnar else pair_columns(chunk)
    if batch is not None and is_columnar(batch):
        return pairs_of_batch(batch)
    pairs: list[_Pair] = []
    for line, record in records(chunk, policy, ("text", *PAIR, DOMAIN)):
        try:
            pairs.append(_checked(record))
        except BadRecord as error:
            hint = None if "context" in record else MADE_OF
            policy.reject(Where(chunk.name, line), str(error), record, hint)
    return _in_columns(pairs)


class _Pair(NamedTuple):
    """What a record says."""

    context: list[str]
    follow: list[str]
    negatives: list[str]
    response: str
    template: str | None
    speakers: list[str | None]
    weight: float
    similar: int
    kind: str | None
    domain: str | None
    dialogue: str | None
    turn: int


def _checked(record: dict[str, Any]) -> _Pair:
    """Return what a record says; a `text` alone is a pair with itself.

    Raises:
        BadRecord: if it is no pair, naming the field.
    """
    if "context" not in record and "response" not in record and "text" in record:
        text(record["text"], "text")
        record = {**record, "context": [record["text"]], "response": record["text"]}
    if record.get("context") is None:
        raise BadRecord('no "context": expected pairs, as dial-pairs writes them')
    if record.get("response") is None:
        raise BadRecord('no "response": expected pairs, as dial-pairs writes them')
    check(record, PAIR)
    context, weight = record["context"], record.get("weight")
    return _Pair(
        context=[context] if isinstance(context, str) else _texts(context),
        follow=_texts(record.get("follow")),
        negatives=_texts(record.get("negatives")),
        response=record["response"],
        template=record.get("template"),
        speakers=record.get("speakers") or [],
        weight=nan if weight is None else weight,
        similar=int(record.get("similar") is None or record["similar"]),
        kind=identity_of(record.get("kind"), "kind"),
        domain=domain if isinstance(domain := record.get(DOMAIN), str) else None,
        dialogue=identity_of(record.get("dialogue_id"), "dialogue_id"),
        turn=UNKNOWN_TURN if record.get("turn") is None else int(record["turn"]),
    )


def _texts(turns: list[Any] | None) -> list[str]:
    """Return the texts of a list of turns; one that is not there is empty."""
    return [turn if type(turn) is str else text_of_turn(turn) for turn in turns or ()]


def _roles(pair: _Pair) -> list[int]:
    """Return the roles of a pair's context turns and of its response."""
    said = len(pair.speakers) == len(pair.context) + 1  # of some turns, we do not know of which
    speakers = pair.speakers if said else [None] * (len(pair.context) + 1)
    return [role_of(speaker) for speaker in speakers]


def _in_columns(pairs: list[_Pair]) -> ChunkPairs:
    """Return pairs as arrays; the texts of a pair stand together."""
    texts: list[str] = []
    places: dict[str, list[int]] = {name: [] for name in (*LISTS, "response", "template")}
    roles: list[list[int]] = []
    for pair in pairs:
        for name in LISTS:
            turns = getattr(pair, name)
            places[name] += range(len(texts), len(texts) + len(turns))
            texts += turns
        places["response"].append(len(texts))
        texts.append(pair.response)
        places["template"].append(-1 if pair.template is None else len(texts))
        texts += [] if pair.template is None else [pair.template]
        roles.append(_roles(pair))

    def column(name: str, kind: Any) -> np.ndarray:
        return np.asarray([getattr(pair, name) for pair in pairs], kind)

    def lists(name: str) -> TurnLists:
        sizes = [len(getattr(pair, name)) for pair in pairs]
        return TurnLists(np.asarray(places[name], np.int64), np.asarray(sizes, np.int64))

    return ChunkPairs(
        texts=texts,
        context=lists("context"),
        follow=lists("follow"),
        negatives=lists("negatives"),
        context_roles=np.asarray([r for of_pair in roles for r in of_pair[:-1]], np.uint8),
        response=np.asarray(places["response"], np.int64),
        response_role=np.asarray([of_pair[-1] for of_pair in roles], np.uint8),
        weight=column("weight", np.float32),
        similar=column("similar", np.uint8),
        kind=[pair.kind for pair in pairs],
        domain=[pair.domain for pair in pairs],
        dialogue=[pair.dialogue for pair in pairs],
        turn=column("turn", np.int32),
        template=np.asarray(places["template"], np.int64),
    )

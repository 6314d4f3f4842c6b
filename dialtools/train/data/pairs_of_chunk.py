"""Pair records of a chunk, checked one by one, or all at once where they come as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from dialtools.corpora.dialogues import DOMAIN, identity_of
from dialtools.corpora.fields import PAIR, BadRecord, check, text, text_of_turn
from dialtools.corpora.pair_columns import SCHEMA, pair_columns
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.policy import Policy, Where
from dialtools.train.data.pairs_of_batch import ChunkPairs, is_columnar, pairs_of_batch

MADE_OF = "dial-pairs makes them of dialogues, dial-pairs --kind texts of questions and answers"


def read_pairs(chunk: Chunk, policy: Policy) -> ChunkPairs:
    """Return the pairs of a chunk; records that are no pairs go to the policy."""
    batch = chunk.data if chunk.columnar else pair_columns(chunk)
    if batch is None or not is_columnar(batch):
        batch = pa.RecordBatch.from_pylist(list(_sound(chunk, policy)), SCHEMA)
    return pairs_of_batch(batch)


def _sound(chunk: Chunk, policy: Policy) -> Iterator[dict[str, Any]]:
    """Yield the pairs of a chunk, each as columns hold it."""
    for line, record in records(chunk, policy, ("text", *PAIR, DOMAIN)):
        try:
            yield _checked(record)
        except BadRecord as error:
            hint = None if "context" in record else MADE_OF
            policy.reject(Where(chunk.name, line), str(error), record, hint)


def _checked(record: dict[str, Any]) -> dict[str, Any]:
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
    context, domain = record["context"], record.get(DOMAIN)
    return {
        "context": [context] if isinstance(context, str) else _texts(context),
        "response": record["response"],
        **{name: _texts(record.get(name)) for name in ("follow", "negatives")},
        **{name: record.get(name) for name in ("template", "speakers")},
        "weight": _number(float, record.get("weight")),
        "similar": _number(int, record.get("similar")),
        **{name: identity_of(record.get(name), name) for name in ("kind", "dialogue_id")},
        "turn": _number(int, record.get("turn")),
        DOMAIN: domain if isinstance(domain, str) else None,
    }


def _number(kind: type[int] | type[float], value: Any) -> float | None:
    """Return a number of the type that its column has, or none."""
    return None if value is None else kind(value)


def _texts(turns: list[Any] | None) -> list[str]:
    """Return the texts of a list of turns; one that is not there is empty."""
    return [turn if type(turn) is str else text_of_turn(turn) for turn in turns or ()]

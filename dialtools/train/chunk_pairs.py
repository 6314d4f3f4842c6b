"""Pair records of a chunk as texts and integers; Arrow columns are taken whole, without a dict a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from dialtools.corpora.dialogues import is_user
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.policy import Policy, Where

UNKNOWN, USER, SYSTEM = 0, 1, 2


@dataclass
class ChunkPairs:
    """P pairs; positions point into `texts`, in which a text may occur again."""

    texts: list[str]
    context: np.ndarray
    context_sizes: np.ndarray
    roles: np.ndarray
    response: np.ndarray
    response_role: np.ndarray
    weight: np.ndarray
    dialogue: list[str | None]
    turn: np.ndarray

    def head(self, n: int) -> ChunkPairs:
        """Return the first n pairs."""
        turns = int(self.context_sizes[:n].sum())
        return ChunkPairs(self.texts, self.context[:turns], self.context_sizes[:n], self.roles[:turns], self.response[:n],
                          self.response_role[:n], self.weight[:n], self.dialogue[:n], self.turn[:n])  # fmt: skip


def read_pairs(chunk: Chunk, policy: Policy) -> ChunkPairs:
    """Return the pairs of a chunk; records that are no pairs go to the policy."""
    if chunk.format == "arrow" and _is_columnar(chunk.data):
        return _from_arrow(chunk.data)
    return _from_records(chunk, policy)


def _is_columnar(batch: Any) -> bool:
    import pyarrow as pa

    names = batch.schema.names
    if "context" not in names or "response" not in names or batch["context"].null_count or batch["response"].null_count:
        return False
    kind = batch.schema.field("context").type
    listed = pa.types.is_list(kind) or pa.types.is_list_view(kind)
    return listed and pa.types.is_string(kind.value_type) and pa.types.is_string(batch.schema.field("response").type)


def _from_arrow(batch: Any) -> ChunkPairs:
    starts, sizes, values = _views(batch["context"])
    texts = values.to_pylist()
    context = _ranges(starts, sizes)
    n, response = len(sizes), len(texts) + np.arange(len(sizes))
    roles, response_role = np.zeros(len(context), np.uint8), np.zeros(n, np.uint8)
    if "speakers" in batch.schema.names and not batch["speakers"].null_count:
        said_at, said_sizes, speakers = _views(batch["speakers"])
        if (said_sizes == sizes + 1).all():
            by_place = _roles(speakers.to_pylist())
            roles, response_role = by_place[_ranges(said_at, sizes)], by_place[said_at + sizes]
    get = lambda name: batch[name].to_pylist() if name in batch.schema.names else None  # noqa: E731
    weight, turn = get("weight"), get("turn")
    return ChunkPairs(texts + batch["response"].to_pylist(), context, sizes, roles, response, response_role,
                      np.ones(n, np.float32) if weight is None else np.asarray([1.0 if w is None else w for w in weight], np.float32),
                      get("dialogue_id") or [None] * n,
                      np.zeros(n, np.int32) if turn is None else np.asarray([t or 0 for t in turn], np.int32))  # fmt: skip


def _views(column: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return starts, sizes and the values of a list or list-view column."""
    import pyarrow as pa

    offsets = np.asarray(column.offsets, np.int64)
    if pa.types.is_list_view(column.type):
        return offsets, np.asarray(column.sizes, np.int64), column.values
    return offsets[:-1], np.diff(offsets), column.values


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return starts[0], starts[0]+1, …, starts[1], …: every place of every view."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(int(ends[-1]) if len(ends) else 0)


def _roles(speakers: list[str | None]) -> np.ndarray:
    known = {s: UNKNOWN if s is None else USER if is_user(s) else SYSTEM for s in set(speakers)}
    return np.fromiter((known[s] for s in speakers), np.uint8, len(speakers))


def _from_records(chunk: Chunk, policy: Policy) -> ChunkPairs:
    texts: list[str] = []
    sizes, roles, response_role, weight, dialogue, turn = [], [], [], [], [], []
    for line, record in records(chunk, policy):
        try:
            context, response = _context(record), _response(record)
        except ValueError as error:
            policy.reject(Where(chunk.name, line), str(error), orjson.dumps(record, default=str))
            continue
        texts += [*context, response]
        sizes.append(len(context))
        said = _roles(record["speakers"]) if len(record.get("speakers") or ()) == len(context) + 1 else np.zeros(len(context) + 1, np.uint8)  # fmt: skip
        roles.append(said[:-1])
        response_role.append(said[-1])
        weight.append(float(record.get("weight", 1.0)))
        identity = record.get("dialogue_id")
        dialogue.append(None if identity is None else str(identity))
        turn.append(int(record.get("turn") or 0))
    counts = np.asarray(sizes, np.int64)
    response_at = np.cumsum(counts + 1) - 1
    context_at = np.setdiff1d(np.arange(len(texts)), response_at, assume_unique=True)
    return ChunkPairs(texts, context_at, counts, np.concatenate(roles) if roles else np.zeros(0, np.uint8), response_at,
                      np.asarray(response_role, np.uint8), np.asarray(weight, np.float32), dialogue, np.asarray(turn, np.int32))  # fmt: skip


def _context(record: dict[str, Any]) -> list[str]:
    context = record.get("context")
    turns = [context] if isinstance(context, str) else context
    if not isinstance(turns, list) or not turns:
        raise ValueError('"context" must be a list of turns' if "context" in record else 'no "context": expected pairs, as dial-pairs writes them')  # fmt: skip
    plain = [t.get("text") if isinstance(t, dict) else t for t in turns]
    if not all(isinstance(t, str) for t in plain):
        raise ValueError("context: expected strings")
    return plain


def _response(record: dict[str, Any]) -> str:
    if not isinstance(record.get("response"), str):
        raise ValueError('"response" must be a string')
    return record["response"]

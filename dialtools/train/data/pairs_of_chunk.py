"""Pair records of a chunk as texts and integers; Arrow columns are taken whole, without a dict a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from dialtools.roles import role_of
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.policy import Policy, Where

LISTS = ("context", "follow", "negatives")


@dataclass
class ChunkPairs:
    """P pairs; positions point into `texts`, in which a text may occur again.

    A weight that is not given is NaN, a template -1.
    """

    texts: list[str]
    context: np.ndarray
    context_sizes: np.ndarray
    follow: np.ndarray
    follow_sizes: np.ndarray
    negatives: np.ndarray
    negative_sizes: np.ndarray
    roles: np.ndarray
    response: np.ndarray
    response_role: np.ndarray
    weight: np.ndarray
    dialogue: list[str | None]
    turn: np.ndarray
    template: np.ndarray

    def head(self, n: int) -> ChunkPairs:
        """Return the first n pairs."""
        turns, after, wrong = (
            int(s[:n].sum()) for s in (self.context_sizes, self.follow_sizes, self.negative_sizes)
        )
        return ChunkPairs(
            self.texts,
            self.context[:turns],
            self.context_sizes[:n],
            self.follow[:after],
            self.follow_sizes[:n],
            self.negatives[:wrong],
            self.negative_sizes[:n],
            self.roles[:turns],
            self.response[:n],
            self.response_role[:n],
            self.weight[:n],
            self.dialogue[:n],
            self.turn[:n],
            self.template[:n],
        )


def read_pairs(chunk: Chunk, policy: Policy) -> ChunkPairs:
    """Return the pairs of a chunk; records that are no pairs go to the policy."""
    if chunk.format == "arrow" and _is_columnar(chunk.data):
        return _from_arrow(chunk.data)
    return _from_records(chunk, policy)


def _is_columnar(batch: Any) -> bool:
    """Whether the columns can be taken as they are; what is wrong with those that cannot is told record by record."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = batch.schema.names
    if (
        "context" not in names
        or "response" not in names
        or batch["context"].null_count
        or batch["response"].null_count
    ):
        return False
    if "weight" in names and not all(
        _is_weight(value) for value in pc.unique(batch["weight"]).to_pylist()
    ):
        return False
    lists = [batch.schema.field(name).type for name in LISTS if name in names]
    listed = all(
        (pa.types.is_list(kind) or pa.types.is_list_view(kind))
        and pa.types.is_string(kind.value_type)
        for kind in lists
    )
    return listed and pa.types.is_string(batch.schema.field("response").type)


def _from_arrow(batch: Any) -> ChunkPairs:
    n, texts, lists = len(batch), [], []
    for name in LISTS:
        if name not in batch.schema.names:
            lists += [np.zeros(0, np.int64), np.zeros(n, np.int64)]
            continue
        starts, sizes, values = _views(batch[name])
        if batch[name].null_count:
            sizes = np.where(np.asarray(batch[name].is_valid()), sizes, 0)
        lists += [_ranges(starts, sizes) + len(texts), sizes]
        texts += values.to_pylist()
    context, sizes, response = lists[0], lists[1], len(texts) + np.arange(n)
    roles, response_role = np.zeros(len(context), np.uint8), np.zeros(n, np.uint8)
    if "speakers" in batch.schema.names and not batch["speakers"].null_count:
        said_at, said_sizes, speakers = _views(batch["speakers"])
        if (said_sizes == sizes + 1).all():
            by_place = _roles(speakers.to_pylist())
            roles, response_role = by_place[_ranges(said_at, sizes)], by_place[said_at + sizes]
    get = lambda name: batch[name].to_pylist() if name in batch.schema.names else None  # noqa: E731
    weight, turn = get("weight"), get("turn")
    return ChunkPairs(
        texts + batch["response"].to_pylist(),
        *lists,
        roles,
        response,
        response_role,
        np.full(n, np.nan, np.float32)
        if weight is None
        else np.asarray([np.nan if w is None else w for w in weight], np.float32),
        get("dialogue_id") or [None] * n,
        np.zeros(n, np.int32) if turn is None else np.asarray([t or 0 for t in turn], np.int32),
        np.full(n, -1),
    )


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
    known = {speaker: role_of(speaker) for speaker in set(speakers)}
    return np.fromiter((known[speaker] for speaker in speakers), np.uint8, len(speakers))


def _from_records(chunk: Chunk, policy: Policy) -> ChunkPairs:
    texts: list[str] = []
    at: dict[str, list[int]] = {name: [] for name in (*LISTS, "response")}
    sizes: dict[str, list[int]] = {name: [] for name in LISTS}
    roles, response_role, weight, dialogue, turn, template = [], [], [], [], [], []
    for line, record in records(chunk, policy):
        if (
            isinstance(record.get("text"), str)
            and "context" not in record
            and "response" not in record
        ):
            record = {
                **record,
                "context": [record["text"]],
                "response": record["text"],
            }  # an utterance, with itself
        try:
            found = {
                "context": _context(record),
                "follow": _turns(record, "follow"),
                "negatives": _turns(record, "negatives"),
            }
            response, counts_for, cut = (
                _response(record),
                _weight(record.get("weight")),
                _template(record),
            )
        except ValueError as error:
            policy.reject(Where(chunk.name, line), str(error), orjson.dumps(record, default=str))
            continue
        for name, turns in found.items():
            at[name] += range(len(texts), len(texts) + len(turns))
            sizes[name].append(len(turns))
            texts += turns
        at["response"].append(len(texts))
        template.append(-1 if cut is None else len(texts) + 1)
        texts += [response] if cut is None else [response, cut]
        size = len(found["context"])
        said = (
            _roles(record["speakers"])
            if len(record.get("speakers") or ()) == size + 1
            else np.zeros(size + 1, np.uint8)
        )
        roles.append(said[:-1])
        response_role.append(said[-1])
        weight.append(counts_for)
        identity = record.get("dialogue_id")
        dialogue.append(None if identity is None else str(identity))
        turn.append(int(record.get("turn") or 0))
    lists = [np.asarray(part[name], np.int64) for name in LISTS for part in (at, sizes)]
    return ChunkPairs(
        texts,
        *lists,
        np.concatenate(roles) if roles else np.zeros(0, np.uint8),
        np.asarray(at["response"], np.int64),
        np.asarray(response_role, np.uint8),
        np.asarray(weight, np.float32),
        dialogue,
        np.asarray(turn, np.int32),
        np.asarray(template, np.int64),
    )


def _context(record: dict[str, Any]) -> list[str]:
    context = record.get("context")
    turns = [context] if isinstance(context, str) else context
    if not isinstance(turns, list) or not turns:
        raise ValueError(
            '"context" must be a list of turns'
            if "context" in record
            else 'no "context": expected pairs, as dial-pairs writes them'
        )
    return _turns({"context": turns}, "context")


def _turns(record: dict[str, Any], name: str) -> list[str]:
    """Return the texts of a list of turns; one that is not there is empty."""
    plain = [t.get("text") if isinstance(t, dict) else t for t in record.get(name) or ()]
    if not all(isinstance(t, str) for t in plain):
        raise ValueError(f"{name}: expected strings")
    return plain


def _weight(weight: Any) -> float:
    if not _is_weight(weight):
        raise ValueError('"weight" must be a number, 0 or more')
    return float("nan") if weight is None else float(weight)


def _is_weight(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value < float("inf"))


def _template(record: dict[str, Any]) -> str | None:
    if not isinstance(record.get("template"), str | None):
        raise ValueError('"template" must be a string')
    return record.get("template")


def _response(record: dict[str, Any]) -> str:
    if not isinstance(record.get("response"), str):
        raise ValueError('"response" must be a string')
    return record["response"]

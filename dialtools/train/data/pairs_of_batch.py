"""Pairs of an Arrow batch: columns are taken whole, without a dict a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dialtools.roles import UNKNOWN, role_of
from dialtools.train.data.chunk_pairs import LISTS, ChunkPairs, TurnLists, is_weight


def is_columnar(batch: pa.RecordBatch) -> bool:
    """Tell whether the columns can be taken as they are.

    What is wrong with those that cannot is told record by record. Templates are read so too: pairs
    with templates are few, and come from dial-augment as JSON lines as a rule.
    """
    names = batch.schema.names
    if "template" in names:
        return False
    if any(name not in names or batch[name].null_count for name in ("context", "response")):
        return False
    if "weight" in names and not all(map(is_weight, batch["weight"].unique().to_pylist())):
        return False
    lists = [batch.schema.field(name).type for name in LISTS if name in names]
    return all(map(_is_list_of_texts, lists)) and pa.types.is_string(batch["response"].type)


def _is_list_of_texts(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_list_view(kind)
    return is_list and pa.types.is_string(kind.value_type)


def pairs_of_batch(batch: pa.RecordBatch) -> ChunkPairs:
    """Return the pairs of a batch that is columnar."""
    n = len(batch)
    texts: list[str] = []
    context, follow, negatives = (_lists_of_column(batch, name, texts) for name in LISTS)
    context_roles, response_role = _roles_of_batch(batch, context.sizes)
    weights = _values(batch, "weight")
    turns = _values(batch, "turn")
    return ChunkPairs(
        texts=texts + batch["response"].to_pylist(),
        context=context,
        follow=follow,
        negatives=negatives,
        context_roles=context_roles,
        response=len(texts) + np.arange(n),
        response_role=response_role,
        weight=np.asarray([np.nan if w is None else w for w in weights], np.float32),
        dialogue=_values(batch, "dialogue_id", pa.string()),
        turn=np.asarray([turn or 0 for turn in turns], np.int32),
        template=np.full(n, -1),
    )


def _values(batch: pa.RecordBatch, name: str, kind: pa.DataType | None = None) -> list[Any]:
    """Return the values of a column as a type, or its own; as many None without the column."""
    if name not in batch.schema.names:
        return [None] * len(batch)
    return batch[name].cast(kind or batch[name].type).to_pylist()


def _lists_of_column(batch: pa.RecordBatch, name: str, texts: list[str]) -> TurnLists:
    """Return the lists of a column, whose texts are put behind those of `texts`."""
    if name not in batch.schema.names:
        return TurnLists(np.zeros(0, np.int64), np.zeros(len(batch), np.int64))
    column = batch[name]
    starts, sizes, values = _views(column)
    if column.null_count:
        sizes = np.where(np.asarray(column.is_valid()), sizes, 0)
    lists = TurnLists(_ranges(starts, sizes) + len(texts), sizes)
    texts += values.to_pylist()
    return lists


def _roles_of_batch(batch: pa.RecordBatch, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the roles of all context turns and of the responses; unknown, if not all are said."""
    if "speakers" not in batch.schema.names:
        return np.zeros(int(sizes.sum()), np.uint8), np.zeros(len(sizes), np.uint8)
    column = batch["speakers"]
    starts, speaker_sizes, speakers = _views(column)
    said = np.asarray(column.is_valid()) & (speaker_sizes == sizes + 1)
    names = speakers.to_pylist()
    known = {name: role_of(name) for name in set(names)}
    roles = np.fromiter((*map(known.__getitem__, names), UNKNOWN), np.uint8, len(names) + 1)
    turns = np.where(np.repeat(said, sizes), _ranges(starts, sizes), len(names))
    return roles[turns], roles[np.where(said, starts + sizes, len(names))]


def _views(column: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return starts, sizes and the values of a list or list-view column."""
    offsets = np.asarray(column.offsets, np.int64)
    if pa.types.is_list_view(column.type):
        return offsets, np.asarray(column.sizes, np.int64), column.values
    return offsets[:-1], np.diff(offsets), column.values


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return starts[0], starts[0]+1, …, starts[1], …: every place of every view."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(total)

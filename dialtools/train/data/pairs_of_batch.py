"""Pairs as texts and integers, of an Arrow batch: columns are taken whole, without a dict a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialtools.corpora.dialogues import DOMAIN, identity_of
from dialtools.corpora.fields import MOST_TURNS, is_flag, is_weight
from dialtools.ranges import places_in
from dialtools.roles import UNKNOWN, role_of

LISTS = ("context", "follow", "negatives")
UNKNOWN_TURN = -1
"""Of a pair that does not say which turn its response is."""


@dataclass
class TurnLists:
    """A list of turns for each of P pairs: the places of all turns in `texts`, and (P,) sizes."""

    places: np.ndarray
    sizes: np.ndarray

    def head(self, n: int) -> TurnLists:
        """Return the lists of the first n pairs."""
        return TurnLists(self.places[: int(self.sizes[:n].sum())], self.sizes[:n])


@dataclass
class ChunkPairs:
    """P pairs whose turns are places in `texts`, in which a text may occur again.

    Attributes:
        context_roles: one for each turn of all contexts, in their order.
        weight: NaN for a pair that gives none.
        similar: 0 for a pair whose texts do not belong together.
        kind: what dial-pairs calls each pair, None for one that says nothing.
        domain: what the dialogue of each pair is about, None for one that says nothing.
        dialogue: the name of each pair's dialogue, None for one without.
        template: the place of each pair's template, -1 for one without.
        vectors: (P, D) a teacher's unit vector of each response, in float16; no row without one.
    """

    texts: list[str]
    context: TurnLists
    follow: TurnLists
    negatives: TurnLists
    context_roles: np.ndarray
    response: np.ndarray
    response_role: np.ndarray
    weight: np.ndarray
    similar: np.ndarray
    kind: list[str | None]
    domain: list[str | None]
    dialogue: list[str | None]
    turn: np.ndarray
    template: np.ndarray
    vectors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float16))

    def __len__(self) -> int:
        return len(self.response)

    def head(self, n: int) -> ChunkPairs:
        """Return the first n pairs, with no text but theirs."""
        firsts = {
            each.name: value.head(n) if isinstance(value, TurnLists) else value[:n]
            for each in fields(self)
            if (value := getattr(self, each.name)) is not self.texts
        }
        turns = int(self.context.sizes[:n].sum())
        first = replace(self, **{**firsts, "context_roles": self.context_roles[:turns]})
        return first.with_own_texts()

    def with_own_texts(self) -> ChunkPairs:
        """Return the same pairs with no text but theirs, in the order in which they have them.

        So it matters neither how many pairs a chunk has, nor what else stands in its columns.
        """
        lists: dict[str, TurnLists] = {name: getattr(self, name) for name in LISTS}
        pairs = np.arange(len(self))
        owner = [*(np.repeat(pairs, each.sizes) for each in lists.values()), pairs, pairs]
        turns = [*(each.places for each in lists.values()), self.response, self.template]
        places = np.concatenate(turns)[np.argsort(np.concatenate(owner), kind="stable")]
        distinct, first = np.unique(places[places >= 0], return_index=True)
        own = distinct[np.argsort(first)]
        moves = np.full(len(self.texts) + 1, -1)  # the last is that of -1, which is no text
        moves[own] = np.arange(len(own))
        return replace(
            self,
            texts=[self.texts[place] for place in own.tolist()],
            response=moves[self.response],
            template=moves[self.template],
            **{name: TurnLists(moves[each.places], each.sizes) for name, each in lists.items()},
        )


def is_columnar(batch: pa.RecordBatch) -> bool:
    """Tell whether the columns can be taken as they are: all that are there fit.

    What is wrong with those that do not is told record by record.
    """
    names = batch.schema.names
    if not {"context", "response"} <= set(names):
        return False
    return all(fits(batch[name]) for name, fits in _FITS.items() if name in names)


def _are_contexts(column: Any) -> bool:
    return not column.null_count and _are_turns(column) and bool(_views(column)[1].all())


def _are_turns(column: Any) -> bool:
    return _is_list_of_texts(column.type) and not column.values.null_count


def _is_list_of_texts(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or _is_view(kind)
    return is_list and _is_text(kind.value_type)


def _is_view(kind: pa.DataType) -> bool:
    return pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _is_text_or_coded(kind: pa.DataType) -> bool:
    return _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _are_weights(column: Any) -> bool:
    is_number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    return is_number and all(map(is_weight, column.unique().to_pylist()))


def _are_flags(column: Any) -> bool:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return False
    return all(map(is_flag, column.unique().to_pylist()))


def _are_places(column: Any) -> bool:
    if not pa.types.is_integer(column.type):
        return False
    bounds = pc.min_max(column).as_py()
    return bounds["min"] is None or (bounds["min"] >= 0 and bounds["max"] < MOST_TURNS)


_FITS: dict[str, Callable[[Any], bool]] = {
    "context": _are_contexts,
    "response": lambda column: _is_text(column.type) and not column.null_count,
    "follow": _are_turns,
    "negatives": _are_turns,
    "template": lambda column: _is_text(column.type),
    "speakers": lambda column: _is_list_of_texts(column.type),
    "weight": _are_weights,
    "similar": _are_flags,
    "kind": lambda column: _is_text_or_coded(column.type),
    "dialogue_id": lambda column: _is_text(column.type),
    "turn": _are_places,
}
"""Whether a column holds what a pair's field may hold, in the way in which it is read here."""


def pairs_of_batch(batch: pa.RecordBatch) -> ChunkPairs:
    """Return the pairs of a batch that is columnar."""
    n = len(batch)
    texts: list[str] = []
    context, follow, negatives = (_lists_of_column(batch, name, texts) for name in LISTS)
    context_roles, response_role = _roles_of_batch(batch, context.sizes)
    weights = _values(batch, "weight")
    turns = _values(batch, "turn")
    templates = _values(batch, "template")
    is_told = np.asarray([template is not None for template in templates], bool)
    return ChunkPairs(
        texts=[*texts, *batch["response"].to_pylist(), *(t for t in templates if t is not None)],
        context=context,
        follow=follow,
        negatives=negatives,
        context_roles=context_roles,
        response=len(texts) + np.arange(n),
        response_role=response_role,
        weight=np.asarray([np.nan if w is None else w for w in weights], np.float32),
        similar=np.asarray([said is None or said for said in _values(batch, "similar")], np.uint8),
        kind=_names(batch, "kind"),
        domain=[name if isinstance(name, str) else None for name in _values(batch, DOMAIN)],
        dialogue=_names(batch, "dialogue_id"),
        turn=np.asarray([UNKNOWN_TURN if turn is None else turn for turn in turns], np.int32),
        template=np.where(is_told, len(texts) + n - 1 + np.cumsum(is_told), -1),
    ).with_own_texts()


def _values(batch: pa.RecordBatch, name: str) -> list[Any]:
    """Return the values of a column; as many None without the column."""
    return batch[name].to_pylist() if name in batch.schema.names else [None] * len(batch)


def _names(batch: pa.RecordBatch, name: str) -> list[str | None]:
    """Return what the values of a column are called by, each distinct one looked at once."""
    values = _values(batch, name)
    called = {value: identity_of(value, name) for value in set(values)}
    return list(map(called.__getitem__, values))


def _lists_of_column(batch: pa.RecordBatch, name: str, texts: list[str]) -> TurnLists:
    """Return the lists of a column, whose texts are put behind those of `texts`."""
    if name not in batch.schema.names:
        return TurnLists(np.zeros(0, np.int64), np.zeros(len(batch), np.int64))
    column = batch[name]
    starts, sizes, values = _views(column)
    if column.null_count:
        sizes = np.where(np.asarray(column.is_valid()), sizes, 0)
    lists = TurnLists(places_in(starts, sizes) + len(texts), sizes)
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
    turns = np.where(np.repeat(said, sizes), places_in(starts, sizes), len(names))
    return roles[turns], roles[np.where(said, starts + sizes, len(names))]


def _views(column: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return starts, sizes and the values of a list or list-view column."""
    offsets = np.asarray(column.offsets, np.int64)
    if _is_view(column.type):
        return offsets, np.asarray(column.sizes, np.int64), column.values
    return offsets[:-1], np.diff(offsets), column.values

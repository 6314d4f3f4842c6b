"""The fields of records that are carried along, as columns beside the vectors."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import orjson
import pyarrow as pa

from dialtools.corpora.fields import json_kind
from dialtools.embed.fields import carried
from dialtools.errors import DataError
from dialtools.shown import listed, quoted
from dialtools.streams.carried import Carried, scalars
from dialtools.streams.policy import Where
from dialtools.streams.schemas import NO_COLUMN, column_of, wider
from dialtools.streams.tally import counted
from dialtools.streams.vectors import SUFFIX

PLAIN = {str, int, float}
"""What lists hold that are no nested values."""
GAPS = {type(None)}

Rows = Sequence[Mapping[str, Any]]


@dataclass
class Columns:
    """The columns of one shard after the other.

    Attributes:
        keep: --keep.
        without: fields that are never carried along.
        made: columns that the run makes.
        settled: the first shard fixes names and types, as of a stream, whose head is gone. Else a
            later one may bring fields, and wider types: numbers that are not whole, text after
            nothing.
        names: of the fields so far.
        kinds: their types so far.
        left_out: fields that came too late.
        earlier: fields of an earlier run: vectors, and what this one makes beside its own.
    """

    keep: Sequence[str]
    without: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()
    settled: bool = False
    names: list[str] = field(default_factory=list)
    kinds: dict[str, pa.DataType] = field(default_factory=dict)
    left_out: dict[str, None] = field(default_factory=dict)
    earlier: dict[str, None] = field(default_factory=dict)

    def see(self, rows: Rows) -> None:
        """Take the names from the first rows.

        Raises:
            ConfigError: if a field that was asked for is not there.
        """
        self.names = self.names or self._names(rows)

    def of(self, rows: Rows, places: Sequence[Where]) -> dict[str, pa.Array]:
        """Return the columns of a shard; one with nested values becomes JSON text.

        Raises:
            DataError: naming the first record whose value is of another type.
        """
        self._meet(rows)
        return {name: self._column(name, rows, places) for name in self.names}

    def take_over(self, rows: Rows, schema: pa.Schema) -> None:
        """Go on after a shard that an earlier run finished."""
        self._meet(rows)
        for known in schema:
            if known.name in self.names:
                self.kinds[known.name] = known.type  # as wide as those of all shards before

    def under(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of a shard as it is when it holds the columns of all."""
        others = [field for field in schema if field.name not in self.names]
        return pa.schema([*((name, self.kinds[name]) for name in self.names), *others])

    def note(self) -> str:
        """Return what the closing line says, if anything."""
        why = {"not in the first rows": self.left_out, "of an earlier run": self.earlier}
        return "; ".join(
            f"{counted(len(names), 'field')} left out: {listed(names)}, {reason}"
            for reason, names in why.items()
            if names
        )

    def _meet(self, rows: Rows) -> None:
        """Take the names of the fields that come with these rows."""
        if tuple(self.keep) == ("all",):
            new = [name for name in self._names(rows) if name not in self.names]
            if self.settled:
                self.left_out |= dict.fromkeys(new)
            else:
                self.names = [*self.names, *new]

    def _names(self, rows: Rows) -> list[str]:
        names = [name for name in carried(rows, self.keep) if name not in self.without]
        if tuple(self.keep) == ("all",):
            earlier = (n for n in names if n.endswith(SUFFIX) or n in self.made)
            self.earlier |= dict.fromkeys(earlier)
        return [name for name in names if name not in self.earlier]

    def _column(self, name: str, rows: Rows, places: Sequence[Where]) -> pa.Array:
        values = [row.get(name) for row in rows]
        kinds = _kinds(values)  # by far the most columns are of plain values
        if Carried in kinds:
            values = scalars(values)
        kind = self.kinds.get(name)
        nests = not kinds.isdisjoint((dict, list))
        if nests and (kind == pa.string() or _nested(values)):
            values = [_as_text(value) for value in values]
        try:
            column = self._typed(values, kind)
        except NO_COLUMN:
            raise self._misfit(name, values, kind, rows, places) from None
        self.kinds[name] = column.type
        return column

    def _typed(self, values: list[Any], kind: pa.DataType | None) -> pa.Array:
        """Return a column of the type that is known, or of one that holds that, too."""
        if kind is None or self.settled:
            return column_of(values, kind)
        column = column_of(values)
        return column_of(values, wider(kind, column.type)) if column.type != kind else column

    def _misfit(
        self,
        name: str,
        values: list[Any],
        kind: pa.DataType | None,
        rows: Rows,
        places: Sequence[Where],
    ) -> DataError:
        """Return the error that names the first record whose value is of another type."""
        place = bisect_left(
            range(len(values)), True, key=lambda i: not self._fits(values[: i + 1], kind)
        )
        first = next(value for value in values if value is not None)
        had = f"those before are {kind}" if kind else f"the first is {_kind_or_number(first)}"
        has = _kind_or_number(rows[place].get(name))
        return DataError(
            f"--keep: {quoted(name)} is not of one type: {has} here, {had}",
            where=places[place],
            hint="--keep names the fields to carry along, which have one type in all records",
        )

    def _fits(self, values: list[Any], kind: pa.DataType | None) -> bool:
        try:
            self._typed(values, kind)
        except NO_COLUMN:
            return False
        return True


def _kind_or_number(value: Any) -> str:
    """Return what a message says of a value: numbers differ in size, too."""
    kind = json_kind(value)
    return str(value) if kind == "a number" else kind


def _as_text(value: Any) -> Any:
    """Return a nested value as JSON text, others as they are."""
    return orjson.dumps(value, default=str).decode() if isinstance(value, dict | list) else value


def _nested(values: Sequence[Any]) -> bool:
    """Tell whether there is more among values than texts, numbers and lists of either.

    Lists may have gaps: Arrow has a place for them.
    """
    lists = [value for value in values if type(value) is list]
    of_lists = _kinds(chain.from_iterable(lists)) - GAPS  # of all at once: most are of one type
    if dict in _kinds(values) or not of_lists <= PLAIN:
        return True
    mixed = str in of_lists and len(of_lists) > 1
    return mixed and any(str in kinds and len(kinds - GAPS) > 1 for kinds in map(_kinds, lists))


def _kinds(values: Iterable[Any]) -> set[type]:
    return set(map(type, values))

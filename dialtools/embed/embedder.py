"""Records in shards, shards to batches of vectors.

N rows of a shard, F fields that are embedded, D dimensions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from dialtools.chance import share
from dialtools.corpora.dialogues import HISTORY
from dialtools.corpora.fields import json_kind
from dialtools.corpora.turns import Turns, turns_of
from dialtools.embed.fields import carried, choose_fields, vector_name
from dialtools.embed.model import Model
from dialtools.embed.options import EmbedOptions
from dialtools.embed.rows import expander
from dialtools.embed.shard import Encoded, Encoding, tokenised
from dialtools.encoder.word_vectors import WordVectors
from dialtools.errors import DataError
from dialtools.shown import quoted
from dialtools.streams.carried import Carried
from dialtools.streams.policy import Policy, Where
from dialtools.streams.sinks import column_of
from dialtools.streams.tally import counted
from dialtools.streams.vectors import embedding_batch

Record = tuple[Where, dict[str, Any]]
Row = tuple[Where, dict[str, Any], list[Turns]]
"""A record, or what is made of it, with its place and the turns of each field."""
FIRST_ROWS = 256
"""Of a stream that somebody reads: a second's work, and enough to tell the columns by."""
PLAIN = {str, int, float}
"""What lists hold that are no nested values."""
NO_COLUMN = (pa.ArrowException, OverflowError, TypeError, ValueError)
"""What pyarrow raises of values that are not of one type."""


@dataclass
class Counts:
    """Rows embedded, distinct texts encoded, and texts cut at the maximal length."""

    rows: int = 0
    distinct: int = 0
    cut: int = 0

    def add(self, other: Counts) -> None:
        self.rows += other.rows
        self.distinct += other.distinct
        self.cut += other.cut


@dataclass(frozen=True)
class Shard:
    """N rows as they were read: of each its place, itself, and the turns of its F fields."""

    places: Sequence[Where]
    rows: Sequence[dict[str, Any]]
    turns: Sequence[list[Turns]]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass
class Embedder:
    """Turns records into batches of vectors; counts what it did.

    Attributes:
        advance: is told of each encoded text.
        fields: what is embedded; the first row fixes it.
        columns: the fields that are carried along; the first shard fixes them.
        schema: of the batches; the first one fixes it.
    """

    model: Model
    options: EmbedOptions
    policy: Policy
    advance: Callable[[int], None]
    counts: Counts = field(default_factory=Counts)
    fields: tuple[str, ...] = ()
    columns: list[str] = field(default_factory=list)
    schema: pa.Schema | None = None

    def __post_init__(self) -> None:
        self.expand = expander(self.options.per)
        if self.options.per == "turn" and not self.options.field:
            self.fields = (HISTORY,)

    def shards(self, records: Iterable[Record], *, soon: bool = False) -> Iterator[Shard]:
        """Cut the records into shards; each record is checked, bad ones go to the policy.

        Args:
            soon: the first shard is small, and each at most twice the one before.
        """
        good = islice(self._checked(records), self.options.limit)
        most = self.options.shard_rows
        rows = min(FIRST_ROWS, most) if soon else most
        while taken := list(islice(good, rows)):
            shard = Shard(*zip(*taken, strict=True))
            self._settle_columns(shard.rows)
            yield shard
            rows = min(2 * rows, most)

    def _checked(self, records: Iterable[Record]) -> Iterator[Row]:
        for where, record in self._drawn(records):
            try:
                rows = [(where, row, self._turns(row)) for row in self.expand(where, record)]
            except ValueError as error:
                self.policy.reject(where, str(error), record)
                continue
            yield from rows

    def _drawn(self, records: Iterable[Record]) -> Iterable[Record]:
        """Return a sample of the records, drawn by their numbers; all, if none is asked for."""
        sample, seed = self.options.sample, self.options.seed
        if sample is None:
            return records
        return (record for n, record in enumerate(records) if share(str(n), seed=seed) < sample)

    def _turns(self, row: dict[str, Any]) -> list[Turns]:
        """Return what is embedded of a row, if it can be."""
        self.fields = self.fields or choose_fields(self.options.field, row)
        return [turns_of(row, name) for name in self.fields]

    def _settle_columns(self, records: Sequence[dict[str, Any]]) -> None:
        if self.columns:
            return
        if self.options.per == "turn":
            # every history again would be quadratic in the length of a dialogue
            records = [{k: v for k, v in record.items() if k != HISTORY} for record in records]
        self.columns = carried(records, self.options.keep)

    def settle_types(self, shard: Shard) -> None:
        """Fix the types of the fields that are carried along by the first shard, another part's."""
        columns = {name: self._column(name, shard) for name in self.columns}
        self.schema = pa.schema({name: column.type for name, column in columns.items()})

    def take_over(self, schema: pa.Schema, counts: Counts) -> None:
        """Go on after a shard that an earlier run finished."""
        self.schema = self.schema or schema.remove_metadata()
        self.counts.add(counts)

    def tokenised(self, shard: Shard) -> Encoding:
        """Tokenise all fields of all rows, field by field; return what encodes them."""
        return tokenised(self.model.encoder, self.items(shard), self.model.settings)

    def items(self, shard: Shard) -> list[Turns]:
        """Return the turns of all fields of all rows, field by field, as the encoder tells them
        apart: without speaker tokens it makes no difference who speaks.
        """
        items = [turns for column in zip(*shard.turns, strict=True) for turns in column]
        return items if self.model.encoder.role_tokens else [(texts, None) for texts, _ in items]

    def batch(
        self, shard: Shard, encoding: Encoding | None = None
    ) -> tuple[pa.RecordBatch, Counts]:
        """Encode a shard; return its rows as a batch, and what it adds to the counts.

        Args:
            encoding: of `tokenised`, if it was done before.

        Raises:
            DataError: if a text is too long and --on-truncate says so, or a carried field is of one
                type here and of another there.
        """
        columns: dict[str, Any] = {name: self._column(name, shard) for name in self.columns}
        encoded = (encoding or self.tokenised(shard))(self.advance)
        self._refuse_cut(encoded, shard)
        if self.options.tokens:
            for name, counts in self._by_field(encoded.tokens).items():
                columns[name.replace("embedding", "tokens")] = counts
        float16 = self.options.dtype == "float16"
        vectors = self._by_field(encoded.vectors)
        batch = embedding_batch(columns, vectors, float16=float16, schema=self.schema)
        self.schema = batch.schema
        added = Counts(rows=len(shard), distinct=encoded.distinct, cut=int(encoded.cut.sum()))
        self.counts.add(added)
        return batch, added

    def _by_field(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of each field, by the name of its vectors."""
        parts = np.split(values, len(self.fields))
        names = (vector_name(name, self.fields) for name in self.fields)
        return dict(zip(names, parts, strict=True))

    def _refuse_cut(self, encoded: Encoded, shard: Shard) -> None:
        if not encoded.cut.any() or self.options.on_truncate != "error":
            return
        first = int(np.argmax(encoded.cut)) % len(shard)
        raise DataError(
            f"longer than {self.model.settings.max_length} tokens",
            where=shard.places[first],
            hint="--max-length, or --on-truncate warn",
        )

    def _column(self, name: str, shard: Shard) -> pa.Array:
        """Return the values of a carried field; a column with nested values becomes JSON text.

        Raises:
            DataError: if they are not of one type.
        """
        values = [row.get(name) for row in shard.rows]
        kinds = _kinds(values)  # by far the most columns are of plain values
        if Carried in kinds:
            values = [value.scalar if isinstance(value, Carried) else value for value in values]
        known = self.schema is not None and name in self.schema.names
        kind = self.schema.field(name).type if self.schema and known else None
        nests = not kinds.isdisjoint((dict, list))
        if nests and (kind == pa.string() or _nested(values)):
            values = [_as_text(value) for value in values]
        try:
            return _column(values, kind)
        except NO_COLUMN:
            raise self._misfit(name, values, kind, shard) from None

    def _misfit(
        self, name: str, values: list[Any], kind: pa.DataType | None, shard: Shard
    ) -> DataError:
        """Return the error that names the first record whose value is of another type."""
        place = bisect_left(
            range(len(values)), True, key=lambda i: not _fits(values[: i + 1], kind)
        )
        first = next(value for value in values if value is not None)
        has = _kind_or_number(shard.rows[place].get(name))
        had = f"those before are {kind}" if kind else f"the first is {_kind_or_number(first)}"
        return DataError(
            f"--keep: {quoted(name)} is not of one type: {has} here, {had}",
            where=shard.places[place],
            hint="--keep names the fields to carry along, which have one type in all records",
        )

    def dimensions(self) -> int:
        """Return D of the vectors that are written."""
        whole = self.model.dimension
        return min(whole, self.options.dimensions or whole)

    def truncation_note(self) -> str:
        """Return what is to be said of texts that were cut, or nothing."""
        if not self.counts.cut or self.options.on_truncate != "warn":
            return ""
        texts = self.counts.rows * len(self.fields)
        longest = self.model.settings.max_length
        return f"{self.counts.cut:,} of {counted(texts, 'text')} cut at {longest} tokens"

    def device_note(self) -> str:
        """Return the device and its precision, of an encoder; word vectors need none."""
        encoder = self.model.encoder
        if isinstance(encoder, WordVectors):
            return ""
        return f"{encoder.device}, {self.model.settings.precision}"


def _fits(values: list[Any], kind: pa.DataType | None) -> bool:
    """Tell whether values make a column of a type; without one, of any."""
    try:
        _column(values, kind)
    except NO_COLUMN:
        return False
    return True


def _column(values: list[Any], kind: pa.DataType | None) -> pa.Array:
    return pa.array(values, kind) if kind else column_of(values)


def _kind_or_number(value: Any) -> str:
    """Return what a message says of a value: numbers differ in size, too."""
    kind = json_kind(value)
    return str(value) if kind == "a number" else kind


def _as_text(value: Any) -> Any:
    """Return a nested value as JSON text, others as they are."""
    return orjson.dumps(value, default=str).decode() if isinstance(value, dict | list) else value


def _nested(values: Sequence[Any]) -> bool:
    """Tell whether there is more among values than texts, numbers and lists of either."""
    lists = [value for value in values if type(value) is list]
    of_lists = _kinds(chain.from_iterable(lists))  # of all at once: most are of one type
    if dict in _kinds(values) or not of_lists <= PLAIN:
        return True
    mixed = str in of_lists and len(of_lists) > 1
    return mixed and any(str in kinds and len(kinds) > 1 for kinds in map(_kinds, lists))


def _kinds(values: Iterable[Any]) -> set[type]:
    return set(map(type, values))

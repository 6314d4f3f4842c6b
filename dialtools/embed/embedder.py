"""Records in shards, shards to batches of vectors.

N rows of a shard, F fields that are embedded, D dimensions.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from dialtools.advance import Advance
from dialtools.chance import share
from dialtools.corpora.dialogues import HISTORY, NO_TURNS
from dialtools.corpora.logs import markup_line, probe
from dialtools.corpora.turns import Turns, turns_of
from dialtools.embed.carry import Columns
from dialtools.embed.fields import NEAREST_TEMPLATE, choose_fields, vector_name
from dialtools.embed.model import Model
from dialtools.embed.options import EmbedOptions
from dialtools.embed.rows import expander
from dialtools.embed.shard import Encoded, Encoding, tokenised
from dialtools.encoder.tokens import strange_line
from dialtools.encoder.word_vectors import WordVectors
from dialtools.errors import ConfigError, DataError
from dialtools.roles import EMPTY
from dialtools.shown import quoted
from dialtools.streams.pipes import come_soon
from dialtools.streams.policy import Policy, Where
from dialtools.streams.tally import Tally, counted, given
from dialtools.streams.vectors import SUFFIX, embedding_batch

Record = tuple[Where, dict[str, Any]]
Row = tuple[Where, dict[str, Any], list[Turns]]
"""A record, or what is made of it, with its place and the turns of each field."""
OF_DIALOGUES = "dial-pairs --kind dialogue makes dialogues of logs; each is a record with its turns"
FIRST_ROWS = 256
"""Of a stream that somebody reads: a second's work, and enough to tell the columns by."""


@dataclass
class Counts:
    """Rows embedded, distinct texts encoded, texts cut at the maximal length, texts of which the
    model knows no word, blank texts, and texts with many tokens of what the model lacks.
    """

    rows: int = 0
    distinct: int = 0
    cut: int = 0
    unknown: int = 0
    blank: int = 0
    strange: int = 0

    def add(self, other: Counts) -> None:
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)


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
        columns: the fields that are carried along.
        tally: counts the turns that are no rows.
    """

    model: Model
    options: EmbedOptions
    policy: Policy
    advance: Advance
    counts: Counts = field(default_factory=Counts)
    fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.tally = Tally()
        self.expand = expander(self.options.per, self.tally, most=self._most_turns())
        turn_by_turn = self.options.per == "turn"
        if turn_by_turn and not self.options.field:
            self.fields = (HISTORY,)
        # every history again would be quadratic in the length of a dialogue
        without = frozenset({HISTORY} if turn_by_turn else ())
        self.columns = Columns(self.options.keep, without)

    def shards(self, records: Iterable[Record | None], *, soon: bool = False) -> Iterator[Shard]:
        """Cut the records into shards; each record is checked, bad ones go to the policy.

        Args:
            records: with None where stdin has no more at once: unless it soon has, a shard ends.
            soon: the first shard is small, and each at most twice the one before.
        """
        good = self._checked(records)
        most, left = self.options.shard_rows, self.options.limit or sys.maxsize
        rows = min(FIRST_ROWS, most) if soon else most
        while left and (taken := come_soon(good, min(rows, left))):
            shard = Shard(*zip(*taken, strict=True))
            probe((texts[-1] for turns in shard.turns for texts, _ in turns), self.tally)
            self.columns.made = self._made()
            self.columns.see(shard.rows)
            yield shard
            rows, left = min(2 * rows, most), left - len(taken)

    def _checked(self, records: Iterable[Record | None]) -> Iterator[Row | None]:
        for read in self._drawn(records):
            if read is None:
                yield None
                continue
            where, record = read
            try:
                rows = [(where, row, self._turns(row)) for row in self.expand(where, record)]
            except ValueError as error:
                hint = OF_DIALOGUES if str(error) == NO_TURNS else None
                self.policy.reject(where, str(error), record, hint)
                continue
            yield from rows

    def _drawn(self, records: Iterable[Record | None]) -> Iterable[Record | None]:
        """Return a sample of the records, drawn by their numbers; all, if none is asked for."""
        sample, seed, numbers = self.options.sample, self.options.seed, itertools.count()
        if sample is None:
            return records
        return (r for r in records if r is None or share(str(next(numbers)), seed=seed) < sample)

    def _turns(self, row: dict[str, Any]) -> list[Turns]:
        """Return what is embedded of a row, if it can be."""
        self.fields = self.fields or choose_fields(self.options.field, row)
        return [turns_of(row, name) for name in self.fields]

    def take_over(self, shard: Shard, schema: pa.Schema, counts: Counts) -> None:
        """Go on after a shard that an earlier run finished."""
        self.columns.take_over(shard.rows, schema)
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
        columns: dict[str, Any] = self.columns.of(shard.rows, shard.places)
        encoded = (encoding or self.tokenised(shard))(self.advance)
        self._refuse_cut(encoded, shard)
        if self.options.tokens:
            for name, counts in self._by_field(encoded.tokens).items():
                columns[name.replace(SUFFIX, "tokens")] = counts
        # what is changed later is rounded then: whitening would blow the rounding up
        later = self.options.transform or self.options.with_templates
        float16 = self.options.dtype == "float16" and not later
        vectors = self._by_field(encoded.vectors)
        batch = embedding_batch(columns, vectors, float16=float16)
        added = Counts(
            rows=len(shard),
            distinct=encoded.distinct,
            cut=int(encoded.cut.sum()),
            unknown=int(encoded.unknown.sum()),
            blank=self._blank(shard),
            strange=int(encoded.strange.sum()),
        )
        self.counts.add(added)
        return batch, added

    def _blank(self, shard: Shard) -> int:
        """Count the texts that are blank: all their turns are `EMPTY`, and were not before."""
        return sum(
            texts[0] == EMPTY and {*texts} == {EMPTY} and row.get(name) != EMPTY
            for row, fields in zip(shard.rows, shard.turns, strict=True)
            for name, (texts, _) in zip(self.fields, fields, strict=True)
        )

    def _most_turns(self) -> int | None:
        """Return how many of a history's newest turns an encoder reads; None: it may read all.

        What stands before a turn is a token, so that more are cut, and two more tell that some are.
        """
        encoder, settings = self.model.encoder, self.model.settings
        apart = not isinstance(encoder, WordVectors) and (
            encoder.role_tokens or len(encoder.special.separator)
        )
        if not apart or settings.newest is False or self.options.tokens:
            return None
        return settings.max_length + 2

    def _made(self) -> frozenset[str]:
        """Return the names of the columns that are made.

        Raises:
            ConfigError: if one, or vectors of an earlier run, are to be carried along.
        """
        vectors = [vector_name(name, self.fields) for name in self.fields]
        tokens = [name.replace(SUFFIX, "tokens") for name in vectors] if self.options.tokens else []
        nearest = [NEAREST_TEMPLATE] if self.options.templates else []
        made = frozenset((*vectors, *tokens, *nearest))
        for name in self.options.keep:
            if name in made:
                raise ConfigError(f"--keep: {name} is a column that this run makes")
            if name.endswith(SUFFIX):
                raise ConfigError(
                    f"--keep: {quoted(name)}: columns that end in {SUFFIX} hold this run's vectors"
                )
        return made

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

    def dimensions(self) -> int:
        """Return D of the vectors that are written."""
        whole = self.model.dimension
        return min(whole, self.options.dimensions or whole)

    def notes(self) -> Iterator[str]:
        """Yield what is to be said of texts that were cut, are blank, or have no vector."""
        every = self.counts.rows * len(self.fields)
        texts = counted(every, "text")
        if self.counts.cut and self.options.on_truncate == "warn":
            longest = self.model.settings.max_length
            yield f"{self.counts.cut:,} of {texts} cut at {longest} tokens"
        if self.tally.dropped:
            yield f"left out {', '.join(given(n, why) for why, n in self.tally.dropped.items())}"
        if self.policy.blank:
            yield f"{counted(self.policy.blank, 'blank line')} of plain text left out: no rows"
        if self.counts.blank:
            yield f"{self.counts.blank:,} of {texts} blank: embedded as {quoted(EMPTY)}"
        if told := markup_line(self.tally):
            yield told
        if self.counts.unknown:
            alike = "zero" if self.model.settings.center is None else "alike"
            yield f"{self.counts.unknown:,} of {texts} without a known word: {alike} vectors"
        if told := strange_line(self.options.model, self.counts.strange, every):
            yield told

    def device_note(self) -> str:
        """Return the device and its precision, of an encoder; word vectors need none."""
        encoder = self.model.encoder
        if isinstance(encoder, WordVectors):
            return ""
        return f"{encoder.device}, {self.model.settings.precision}"

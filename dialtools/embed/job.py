"""The batch job: records in shards, each written once; a killed run repeats no finished shard."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from dialtools.chance import share
from dialtools.corpora.turns import Turns, turns_of
from dialtools.embed.fields import carried, choose_fields, vector_name
from dialtools.embed.options import EmbedOptions
from dialtools.embed.rows import HISTORY, expander
from dialtools.embed.shard import Settings, encode_turns
from dialtools.encoder.encoder import Encoder
from dialtools.errors import ConfigError, DataError, OutputError
from dialtools.streams.atomic import atomic_file
from dialtools.streams.policy import Policy, Where
from dialtools.streams.sinks import writer
from dialtools.streams.vectors import embedding_batch

if TYPE_CHECKING:
    import pyarrow as pa

Record = tuple[Where, dict[str, Any]]


class Job:
    """Turns records into batches of vectors; counts what it did.

    Attributes:
        space: what the vectors are of: the model's weights, the pooling, whether they are scaled to
            length 1.
        rows, distinct, cut: rows embedded, texts encoded, texts cut at the maximal length.
    """

    def __init__(
        self,
        encoder: Encoder,
        options: EmbedOptions,
        settings: Settings,
        space: dict[str, Any],
        policy: Policy,
        advance: Callable[[int], None],
    ) -> None:
        self.encoder, self.options, self.settings, self.space, self.policy, self.advance = (
            encoder,
            options,
            settings,
            space,
            policy,
            advance,
        )
        self.expand = expander(options.per)
        self.fields: tuple[str, ...] = (
            (HISTORY,) if options.per == "turn" and not options.field else ()
        )
        self.columns: list[str] = []
        self.schema: pa.Schema | None = None
        self.rows = self.distinct = self.cut = 0

    def shards(self, records: Iterable[Record]) -> Iterator[list[Record]]:
        """Cut the records into shards; each record is checked, bad ones go to the policy."""
        good = islice(self._checked(records), self.options.limit)
        while shard := list(islice(good, self.options.shard_rows)):
            yield shard

    def _checked(self, records: Iterable[Record]) -> Iterator[Record]:
        for number, (where, record) in enumerate(records):
            if (
                self.options.sample
                and share(str(number), seed=self.options.seed) >= self.options.sample
            ):
                continue
            try:
                rows = [self._row(row) for row in self.expand(where, record)]
            except ValueError as error:
                self.policy.reject(where, str(error), orjson.dumps(record, default=str))
                continue
            yield from ((where, row) for row in rows)

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Check that the fields of a row can be embedded; the first row fixes which they are."""
        self.fields = self.fields or choose_fields(self.options.field, row)
        for name in self.fields:
            turns_of(row, name)
        return row

    def settle(self, shard: list[Record]) -> None:
        """Fix the carried columns by the first shard."""
        if not self.columns:
            records = [record for _, record in shard]
            if (
                self.options.per == "turn"
            ):  # every history again would be quadratic in the length of a dialogue
                records = [{k: v for k, v in record.items() if k != HISTORY} for record in records]
            self.columns = carried(records, self.options.keep)

    def count(self, part: pa.RecordBatch, rows: int) -> None:
        """Take a finished part into the counts, and its schema for the shards to come."""
        about = part.schema.metadata or {}
        self.rows, self.cut, self.distinct = (
            self.rows + rows,
            self.cut + int(about[b"cut"]),
            self.distinct + int(about[b"distinct"]),
        )
        self.schema = self.schema or part.schema.remove_metadata()

    def batch(self, shard: list[Record]) -> pa.RecordBatch:
        """Encode a shard."""
        self.settle(shard)
        items: list[Turns] = [turns_of(record, name) for name in self.fields for _, record in shard]
        if not self.encoder.role_tokens:
            items = [(texts, None) for texts, _ in items]
        encoded = encode_turns(self.encoder, items, self.settings, self.advance)
        self.rows, self.distinct, self.cut = (
            self.rows + len(shard),
            self.distinct + encoded.distinct,
            self.cut + int(encoded.cut.sum()),
        )
        if encoded.cut.any() and self.options.on_truncate == "error":
            where = shard[int(np.nonzero(encoded.cut)[0][0]) % len(shard)][0]
            raise DataError(
                f"longer than {self.settings.max_length} tokens",
                where=where,
                hint="--max-length, or --on-truncate warn",
            )
        parts = np.split(encoded.vectors, len(self.fields))
        vectors = {
            vector_name(name, self.fields): part
            for name, part in zip(self.fields, parts, strict=True)
        }
        columns = {
            name: _plain([record.get(name) for _, record in shard], self._is_text(name))
            for name in self.columns
        }
        if self.options.tokens:
            counts = np.split(encoded.tokens, len(self.fields))
            columns |= {
                vector_name(name, self.fields).replace("embedding", "tokens"): part
                for name, part in zip(self.fields, counts, strict=True)
            }
        try:
            batch = embedding_batch(
                columns, vectors, float16=self.options.dtype == "float16", schema=self.schema
            )
        except Exception as error:
            raise DataError(
                f"a carried field is not of one type: {error}",
                where=shard[0][0],
                hint="--keep names the fields to carry",
            ) from None
        self.schema = self.schema or batch.schema
        return batch

    def _is_text(self, name: str) -> bool:
        """Tell whether an earlier shard made a column text."""
        return (
            self.schema is not None
            and name in self.schema.names
            and str(self.schema.field(name).type) == "string"
        )


def _plain(values: list[Any], as_text: bool) -> list[Any]:
    """Keep texts, numbers and lists of either as they are; a column with nested values becomes JSON text."""
    if not as_text and not any(map(_nested, values)):
        return values
    return [
        orjson.dumps(value).decode() if isinstance(value, dict | list) else value
        for value in values
    ]


def _nested(value: Any) -> bool:
    plain = isinstance(value, list) and (
        all(isinstance(v, str) for v in value) or all(type(v) in (int, float) for v in value)
    )
    return isinstance(value, dict | list) and not plain


class Shards:
    """The finished shards of a job, in `OUTPUT.partial/`: part files and a manifest of what they are parts of.

    The directory is made with its first shard: a job that fails before it leaves nothing.
    """

    def __init__(
        self, output: Path, about: dict[str, Any], *, resume: bool, overwrite: bool
    ) -> None:
        self.directory, self.about = output.with_name(f"{output.name}.partial"), about
        manifest = self.directory / "manifest.json"
        if self.directory.exists() and not (resume or overwrite):
            raise OutputError(
                "an interrupted run is here",
                where=self.directory,
                hint="--resume goes on, --overwrite starts over",
            )
        if resume and manifest.is_file():
            _check_same(json.loads(manifest.read_text()), json.loads(json.dumps(about)))
            return
        shutil.rmtree(self.directory, ignore_errors=True)

    def _begin(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        with atomic_file(self.directory / "manifest.json", overwrite=True) as path:
            path.write_text(json.dumps(self.about))

    def path(self, number: int) -> Path:
        return self.directory / f"part-{number:06d}.arrow"

    def has(self, number: int) -> bool:
        return self.path(number).is_file()

    def write(self, number: int, batch: pa.RecordBatch, *, cut: int, distinct: int) -> None:
        """Write a part in one rename; its counts travel in its metadata."""
        if not self.directory.exists():
            self._begin()
        with (
            atomic_file(self.path(number), overwrite=True) as temporary,
            writer(
                str(temporary),
                format="arrow",
                overwrite=True,
                metadata={"cut": str(cut), "distinct": str(distinct)},
            ) as write,
        ):
            write(batch)

    def read(self, number: int) -> pa.RecordBatch:
        import pyarrow as pa

        with pa.OSFile(str(self.path(number))) as file:
            return pa.ipc.open_stream(file).read_next_batch()

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)


def _check_same(before: dict[str, Any], now: dict[str, Any]) -> None:
    changed = [
        f"{key} was {before.get(key)}, is {now.get(key)}"
        for key in now
        if before.get(key) != now.get(key)
    ]
    if changed:
        raise ConfigError(
            f"cannot resume: {'; '.join(changed)}",
            hint="run it as it was, or start over with --overwrite",
        )

"""A run of dial-embed: to stdout as it goes, or in shards that a killed run does not embed again.

    embedding = Embedding(options, model, policy, advance)
    with Work(options.output, embedding.job(name, inputs), resume=..., overwrite=...) as work:
        for count in embedding.shards(work):
            ...                              # the caller may stop here: the shard is on the disk
        embedding.write(work)

In the working folder: `part-000001.arrow`, ..., each bound to the records it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from dialtools.advance import Advance
from dialtools.embed.carry import Columns
from dialtools.embed.compress import Compression, vector_names
from dialtools.embed.embedder import Counts, Shard
from dialtools.embed.model import Model
from dialtools.embed.options import TO_RESPONSE, EmbedOptions
from dialtools.embed.own_shards import OwnShards
from dialtools.embed.plan import plan
from dialtools.embed.shard import Encoding
from dialtools.embed.transformed import Transform
from dialtools.embed.transforms import kind_of
from dialtools.errors import ConfigError, DataError, OutputError
from dialtools.shown import first_line, listed
from dialtools.streams import checksums
from dialtools.streams.ahead import ahead, behind
from dialtools.streams.atomic import atomic_file, refuse_existing
from dialtools.streams.bytesio import display_name
from dialtools.streams.digests import RecordDigest, hashed_stdin
from dialtools.streams.formats import EMBEDDING_FORMATS, FORMATS
from dialtools.streams.full import naming
from dialtools.streams.job import Job
from dialtools.streams.job_files import damaged
from dialtools.streams.making import KIND, ONE_SIDED
from dialtools.streams.policy import Policy
from dialtools.streams.provenance import Inputs, as_metadata
from dialtools.streams.resume import Work
from dialtools.streams.schemas import NO_COLUMN, fitted
from dialtools.streams.sinks import output_format, writer
from dialtools.streams.tally import counted
from dialtools.streams.vectors import embedding_lines

Ready = TypeVar("Ready")


def embedding_format(options: EmbedOptions) -> str:
    """Return the format of the output: by --to, by suffix, else Parquet, and Arrow on stdout."""
    default = "arrow" if options.output == "-" else "parquet"
    return output_format(
        options.output,
        options.to,
        formats=EMBEDDING_FORMATS,
        default=default,
        dry=options.dry_run,
    )


class Embedding:
    """One run, of one model."""

    def __init__(
        self,
        options: EmbedOptions,
        model: Model,
        policy: Policy,
        advance: Advance,
    ) -> None:
        self.options = options
        self.format = embedding_format(options)
        kind = kind_of(options.transform)
        changed = {KIND: kind} if kind else {}
        sided = {ONE_SIDED: True} if kind == TO_RESPONSE else {}
        # mixtures are of length 1 only if that is asked for
        of_length_1 = options.compress is None or bool(options.normalize)
        scaled = {"normalize": of_length_1} if options.with_templates else {}
        self.space = model.space() | changed | sided | scaled
        self.own = OwnShards(model, options, policy, advance)
        self.embedder = self.own.embedder
        self.written = False

    def job(self, command: str, inputs: Inputs, part: Mapping[str, Any] | None = None) -> Job:
        """Return what the run is a job of.

        Args:
            part: tells which part of the work it does, if not all.
        """
        model = self.embedder.model
        facts = {"precision": model.settings.precision, **self.space}
        facts["files of the model"] = model.files
        return Job(command, self.options, inputs, facts | dict(part or {}), makes=("part-*",))

    def plan(self) -> dict[str, str]:
        """Return what would be done, in lines by their names."""
        self._prepare(overwrite=self.options.overwrite)
        output = "stdout" if self.options.output == "-" else self.options.output
        shards = self._all(self.own.shards())
        lines = plan(self.embedder, shards, dimensions=self._dimensions())
        return {**lines, "writes": f"{output} as {self.format}"}

    def _prepare(self, *, overwrite: bool) -> None:
        """Make ready what is done to vectors, before any are made: mistakes show early.

        Args:
            overwrite: --save-transform may replace a file, and so may the columns of a matrix.
        """
        if second := FORMATS[self.format].beside:
            refuse_existing(f"{self.options.output}{second}", overwrite=overwrite)
        model = self.embedder.model
        self.transform = Transform(self.options, self.space, overwrite=overwrite)
        self.compression = Compression(self.options, model.encoder, model.settings)

    def _all(self, shards: Iterable[Shard]) -> Iterator[Shard]:
        """Yield the shards, of which the first tells what a row has vectors of.

        Raises:
            ConfigError: if the format, or the transform, is for others.
        """
        for count, shard in enumerate(shards):
            if count == 0:
                names = vector_names(self.options, self.embedder.fields)
                if FORMATS[self.format].vectors and len(names) > 1:
                    what = f"{self.format} holds one matrix, not {listed(names)}"
                    raise ConfigError(what, hint="choose one --field, or --to parquet")
                self.transform.check_fields(self.embedder.fields)
            yield shard

    def stream(self, provenance: dict[str, Any]) -> None:
        """Write each shard to the output as soon as it is embedded."""
        self._prepare(overwrite=self.options.overwrite)
        metadata = as_metadata(provenance | self.space)
        lines = FORMATS[self.format].lines
        self.embedder.columns.settled |= not lines
        shards = self._all(self.own.shards(soon=lines))
        ready = ((shard, self.embedder.tokenised(shard)) for shard in shards)
        with self._sink(metadata, overwrite=self.options.overwrite) as write:
            for shard, encoding in self._early(ready):
                write(self.embedder.batch(shard, encoding)[0])
            self._refuse_nothing()

    def _early(self, ready: Iterator[Ready]) -> Iterator[Ready]:
        """Yield what is ready; while it is embedded, a thread makes the next, where that pays.

        Not of a pipe: what it has yet to bring, a signal would have to wait for.
        """
        of_files = all(name != "-" and Path(name).is_file() for name in self.options.files)
        return ahead(ready) if of_files and self.embedder.model.overlaps else ready

    def shards(self, work: Work) -> Generator[int]:
        """Embed shard after shard, those excepted that an earlier run finished; yield their count.

        Raises:
            OutputError: if an earlier run made a shard of other records.
        """
        # what an interrupted run fitted and saved, it may save again
        self._prepare(overwrite=work.overwrite or work.resumed)
        work.job.settle_files()
        count = 0
        with hashed_stdin() as stdin, self._written_behind(work) as written:
            for count, ready in enumerate(self._early(self._unfinished(work)), 1):
                name = _part_name(count)
                self._shard(work, name, *ready)
                written(name)
                yield count
            work.expect("the finished part", len(work.pieces), count)
            self._refuse_nothing()
        work.note_stdin(stdin.content())

    def _unfinished(self, work: Work) -> Iterator[tuple[Shard, Encoding | None, str]]:
        """Yield each shard, what encodes it, if that is to be done, and a hash of all so far."""
        done = set(work.pieces)
        seen = RecordDigest()
        for count, shard in enumerate(self._all(self.own.shards(seen)), 1):
            encoding = None if _part_name(count) in done else self.embedder.tokenised(shard)
            yield shard, encoding, seen.so_far()

    @contextmanager
    def _written_behind(self, work: Work) -> Iterator[Callable[[str], None]]:
        """Write the output while shards are embedded; yield what is told of each part.

        Not if it begins with what only the end tells: a transform fitted to all, or what stdin was.
        """
        if self.transform.waits or "-" in self.options.files:
            yield lambda name: None
            return
        with behind(partial(self._write_as_they_come, work)) as written:
            yield written

    def _refuse_nothing(self) -> None:
        """Refuse to end without a row: a file without vectors can be used by nobody, but a part.

        Raises:
            DataError: naming the input.
        """
        if not self.embedder.counts.rows and not self.options.shard:
            where = ", ".join(map(display_name, self.options.files))
            raise DataError("no records to embed", where=where)

    def _shard(
        self, work: Work, name: str, shard: Shard, encoding: Encoding | None, records: str
    ) -> None:
        path = work.folder / name
        piece = work.pieces.get(name)
        if piece:
            try:
                made_of, counts = piece["records"], Counts(**piece["counts"])
                as_written = checksums.of_file(path) == piece[checksums.KIND]
            except (KeyError, TypeError, DataError):
                raise damaged(path) from None
            if not as_written:
                raise damaged(path)
            work.expect(name, made_of, records)
            self.embedder.take_over(shard, _read_part(path).schema, counts)
            return
        batch, counts = self.embedder.batch(shard, encoding)
        with (
            atomic_file(path, overwrite=True) as temporary,
            writer(str(temporary), format="arrow", overwrite=True) as write,
        ):
            write(batch)
        made = {"records": records, "counts": asdict(counts)}
        made[checksums.KIND] = checksums.of_file(path)
        work.add(name, made)

    def expect_transform(self) -> None:
        """Refuse a finished run without the transform that it is to save: it fits none any more.

        Raises:
            OutputError: naming the file.
        """
        saved = self.options.save_transform
        if saved and not Path(saved).exists():
            message = f"not there, and {self.options.output} is finished: no transform is fitted"
            raise OutputError(message, where=saved, hint="--overwrite makes both anew")

    def write(self, work: Work) -> None:
        """Transform the shards and write the output, if it is not; the working folder goes."""
        if not self.written:
            parts = [work.folder / _part_name(number + 1) for number in range(len(work.pieces))]
            if self.transform.waits:
                self.transform.fit(map(_read_part, parts))
            self._write_parts(work, parts, self.embedder.columns)
        work.finish()

    def _write_as_they_come(self, work: Work, names: Iterator[str]) -> None:
        """Write the parts under the schema of the first; if one does not fit, the end has to."""
        parts = (work.folder / name for name in names)
        with suppress(_Misfit):
            self._write_parts(work, parts)
            self.written = True

    def _write_parts(
        self, work: Work, parts: Iterable[Path], columns: Columns | None = None
    ) -> None:
        """Write the output.

        Args:
            columns: of all shards, if they are known; else those of the first part.

        Raises:
            _Misfit: if a part does not fit.
        """
        kind = FORMATS[self.format]
        metadata = as_metadata(work.job.provenance())
        with self._sink(metadata, overwrite=work.overwrite) as write:
            schema: pa.Schema | None = None
            for batch in map(_read_part, parts):
                columns = self.own.every or columns
                schema = schema or (columns.under(batch.schema) if columns else batch.schema)
                write(batch if kind.lines or kind.beside else _under(schema, batch))

    @contextmanager
    def _sink(
        self, metadata: dict[str, str], *, overwrite: bool
    ) -> Iterator[Callable[[pa.RecordBatch], None]]:
        """Open the output for batches as they were embedded."""
        lines = FORMATS[self.format].lines
        with writer(
            self.options.output,
            format=self.format,
            overwrite=overwrite,
            metadata=metadata,
            floats=True,
        ) as write:

            def finished(batch: pa.RecordBatch) -> None:
                batch = self.compression(self.transform(batch))
                write(embedding_lines(batch) if lines else batch)

            yield finished
            self.transform.save()  # once all is embedded, and before the output has its name

    def _dimensions(self) -> int:
        """Return how many the vectors have that are written."""
        fitted = self.transform.fitted
        if fitted is None or self.transform.one_sided:
            return self.embedder.dimensions()
        return fitted(np.zeros((1, fitted.width), np.float32)).shape[1]

    def closing_notes(self) -> Iterable[str]:
        """Return what the closing line says."""
        counts = self.embedder.counts
        yield (
            f"{counted(counts.rows, 'row')}, {counted(counts.distinct, 'text')} encoded, "
            f"{counted(self._dimensions(), 'dimension')}"
        )
        yield self.embedder.columns.note()
        yield self.compression.note()
        yield self.transform.note


def _part_name(number: int) -> str:
    return f"part-{number:06d}.arrow"


class _Misfit(DataError):
    """A part whose columns have no place under the schema of the output."""


def _under(schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    try:
        return fitted(batch, schema)
    except NO_COLUMN as error:
        message = f"records do not fit one table: {first_line(error)}"
        hint = "--keep names the fields to carry along, --to jsonl takes all"
        raise _Misfit(message, hint=hint) from None


def _read_part(path: Path) -> pa.RecordBatch:
    try:
        with naming(path), pa.OSFile(str(path)) as file:
            return pa.ipc.open_stream(file).read_next_batch()
    except (pa.ArrowInvalid, OSError, StopIteration):
        raise damaged(path) from None

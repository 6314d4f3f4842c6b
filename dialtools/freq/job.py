"""What dial-freq does: count, then give counts, their imbalance, or the weight of each record."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import Any

import numpy as np
import pyarrow as pa

from dialtools.advance import Advance, silent
from dialtools.corpora.logs import FIRST_TEXTS, markup_line, probe
from dialtools.corpora.names import ALL, corpus_names
from dialtools.corpora.read import record_chunks
from dialtools.errors import ConfigError
from dialtools.freq import render
from dialtools.freq.annotate import Spool, Weighed, first_texts, weighed
from dialtools.freq.columns import normalised
from dialtools.freq.count import Counting
from dialtools.freq.fields import TEXT
from dialtools.freq.imbalance import Spectrum
from dialtools.freq.options import FreqOptions
from dialtools.freq.texts import UNMERGED, Extractor, Texts, count_empty
from dialtools.freq.weights import Weighting
from dialtools.streams.ahead import ahead
from dialtools.streams.bytesio import display_name
from dialtools.streams.chunks import read_chunks
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally, counted


class Freq:
    """One run over the inputs.

    Attributes:
        tally: what was counted ("kept"), and the texts that were left out.
        distinct: how many texts were counted that differ.
        unseen: records of --annotate whose text is not in --counts.
    """

    def __init__(self, options: FreqOptions, policy: Policy, advance: Advance = silent) -> None:
        self.options, self.policy, self.advance = options, policy, advance
        self.tally = Tally()
        self.distinct = self.unseen = 0

    def texts(self) -> Iterator[Texts]:
        """Yield the texts of the inputs, normalised, a chunk at a time."""
        options = self.options
        extract = Extractor(
            options.field,
            self.policy,
            self.tally,
            merge=options.merge,
            tell_places=options.unit == "turn" and not options.merge,
            keep=options.annotate,
        )
        # a part counts none of its inputs apart: it may have but some lines of one
        apart = [options.inputs] if options.part else [(p,) for p in options.files]
        for source, paths in enumerate(apart):
            chunks = record_chunks(
                paths,
                format=options.from_,
                policy=self.policy,
                column=options.field or TEXT,
                shard=options.part,
            )
            for chunk in chunks:
                part = extract(chunk, source)
                part.name = display_name(paths[0])
                self._check_part(part)
                probe(part.texts[:FIRST_TEXTS].to_pylist(), self.tally)
                if not options.merge:  # those were normalised when they were counted
                    part.texts = normalised(part.texts, options.ignore)
                if not len(part.texts):
                    continue
                if not chunk.plain:  # where an empty line is no text
                    self.tally.drop("empty", count_empty(part.texts))
                self.advance(len(part.texts))
                yield part

    def _check_part(self, texts: Texts) -> None:
        """Refuse pairs of which a part would count a response that another part counts, too.

        Raises:
            ConfigError: saying why.
        """
        counts = self.options.part and not self.options.annotate
        if counts and texts.turn is not None:
            raise ConfigError(
                "--shard: a response counts once in all its windows, of which parts see some",
                hint="--unit record counts every pair; or count the dialogues themselves",
            )

    @contextmanager
    def counted(self, spool: Spool | None = None) -> Iterator[Counting]:
        """Yield the counts of the inputs, or, to annotate by them, those of --counts.

        Args:
            spool: gets the inputs.
        """
        options = self.options
        by_turn = options.unit == "turn"  # of texts that tell theirs, as counts never do
        with Counting(
            memory=options.memory, threads=options.jobs, by_turn=by_turn, apart=options.summary
        ) as counting:
            if options.summary:  # of an input without a text, too
                counting.names.update(enumerate(map(display_name, options.files)))
            for part in self._published(options.counts) if options.counts else self.texts():
                counting.add(part)
                if spool is not None:
                    spool.add(part)
            counting.finish()
            if not options.annotate:
                self.tally.keep(counting.total)
                self.distinct = counting.distinct
            yield counting

    def _published(self, path: str) -> Iterator[Texts]:
        """Yield the frequency records of a file."""
        extract = Extractor(None, Policy(), merge=True, tell_places=False)
        yield from (extract(chunk, 0) for chunk in read_chunks([path]))

    def weighting(self, counting: Counting) -> Weighting:
        """Return how this run turns counts into weights."""
        plain = Weighting(self.options.weights, self.options.log_base, self.options.smooth)
        if not self.options.weights_mean_one:
            return plain
        spectrum = counting.spectrum()
        return plain.with_mean_one(spectrum.counts, spectrum.texts)

    def frequencies(self, counting: Counting, *, lines: bool) -> Generator[Any]:
        """Yield frequency records, as JSON lines or Arrow batches.

        The most frequent come first, unless --no-rank.
        """
        draw = render.as_lines if lines else render.as_batch
        shared = {"total": counting.total, "weighting": self.weighting(counting)}
        rank = 1 if self.options.rank else None
        if not lines:  # a table has its columns even without a row
            yield draw(pa.array([], pa.string()), np.zeros(0, np.int64), first=rank, **shared)

        bounds = [n for n in (self.options.top, self.options.limit) if n is not None]
        bounds = [] if self.options.part else bounds  # the most frequent of all parts may be rare
        rows = counting.counts(min(bounds, default=None), ranked=self.options.rank)
        with closing(ahead(rows)) as read:
            for texts, counts in read:
                if len(counts):
                    yield draw(texts, counts, first=rank, **shared)
                    rank = rank and rank + len(counts)

    def annotated(self) -> Generator[Weighed]:
        """Yield the records of the inputs in turn, with their weights.

        Without --counts the input itself is counted in a first pass.
        """
        with (
            nullcontext() if self.options.counts else Spool() as spool,
            self.counted(spool) as counting,
        ):
            weigh = self.weighting(counting)

            def weights(texts: pa.ChunkedArray) -> np.ndarray:
                counts = counting.lookup(texts)
                if self.options.counts:
                    self.unseen += int((counts == 0).sum())
                return weigh(counts)

            held_bytes = self.options.memory // 32
            parts = first_texts(spool or self.texts(), self.options.limit)
            for part in weighed(parts, weights, held_bytes=held_bytes):
                self.tally.keep(len(part.weights))
                if len(part.weights):
                    yield part

    def notes(self) -> Iterator[str]:
        """Yield what the texts look like that they were not taken for."""
        if told := markup_line(self.tally):
            yield told
        unmerged = self.tally.facts[UNMERGED]
        if unmerged and not self.options.counts:
            records = counted(unmerged, "frequency record")
            yield f"counted once as a text: {records}; --merge adds up what they counted"

    def closing_line(self) -> str:
        """Return what was counted, or weighed."""
        if not self.options.annotate:
            return self.tally.line("text", f", {self.distinct:,} distinct")
        unseen = f"; {self.unseen:,} not in --counts" if self.unseen else ""
        return f"{counted(self.tally.kept, 'record')} weighed{unseen}"


def spectra(counting: Counting) -> dict[str, Spectrum]:
    """Return the spectrum of each input by its short name, and of all if there are several."""
    names = zip(counting.names, corpus_names([*counting.names.values()]), strict=True)
    apart = {name: counting.spectrum(source) for source, name in names}
    return {**apart, ALL: counting.spectrum()} if len(apart) != 1 else apart

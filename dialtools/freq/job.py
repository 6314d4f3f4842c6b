"""What dial-freq does: count, then tell the counts, their imbalance, or the weight of each record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dialtools.corpora.read import record_chunks
from dialtools.freq import annotate, render
from dialtools.freq.annotate import Weighed
from dialtools.freq.columns import normalised
from dialtools.freq.count import Counting
from dialtools.freq.imbalance import Spectrum
from dialtools.freq.options import FreqOptions
from dialtools.freq.spool import Spool
from dialtools.freq.texts import TEXT, Extractor, Texts, empties
from dialtools.freq.weights import Weighting
from dialtools.streams.ahead import ahead
from dialtools.streams.allocator import keep_freed_memory
from dialtools.streams.bytesio import display_name
from dialtools.streams.chunks import read_chunks
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_BYTES = 1 << 20
ALL = "all"


class Freq:
    """One run over the inputs.

    Attributes:
        tally: what was counted ("kept"), and the texts that were left out.
        unseen: records of --annotate whose text is not in --counts.
    """

    def __init__(
        self, options: FreqOptions, policy: Policy, advance: Callable[[int], None] = lambda n: None
    ) -> None:
        self.options, self.policy, self.advance = options, policy, advance
        self.tally, self.unseen = Tally(), 0
        keep_freed_memory(largest_block=4 * CHUNK_BYTES)

    def read(self) -> Iterator[Texts]:
        """Yield the texts of the inputs, normalised, a chunk at a time."""
        options = self.options
        places = options.unit == "turn" and not options.merge
        extract = Extractor(
            options.field, self.policy, merge=options.merge, places=places, keep=options.annotate
        )
        for source, path in enumerate(options.inputs or ("-",)):
            for chunk in record_chunks(
                [path],
                format=options.from_,
                policy=self.policy,
                column=options.field or TEXT,
                chunk_bytes=CHUNK_BYTES,
            ):
                found = extract(chunk, source)
                found.name = display_name(path)
                if not options.merge:  # those were normalised when they were counted
                    found.texts = normalised(found.texts, options.normalize)
                if len(found.texts):
                    self.tally.drop("empty", empties(found.texts) if chunk.format != "text" else 0)
                    self.advance(len(found.texts))
                    yield found

    @contextmanager
    def counted(self, spool: Spool | None = None) -> Iterator[Counting]:
        """Yield the counts of the inputs, or, to annotate by them, those of --counts; the spool gets the inputs."""
        options = self.options
        by_turn = options.unit == "turn" and not options.merge and not options.counts
        with Counting(
            memory=options.memory, threads=options.jobs, by_turn=by_turn, apart=options.summary
        ) as counting:
            for found in self._published(options.counts) if options.counts else self.read():
                counting.add(found)
                if spool is not None:
                    spool.add(found)
            yield counting.finish()

    def _published(self, path: str) -> Iterator[Texts]:
        extract = Extractor(None, Policy(), merge=True, places=False)
        yield from (extract(chunk, 0) for chunk in read_chunks([path], chunk_bytes=CHUNK_BYTES))

    def weighting(self, counting: Counting) -> Weighting:
        """Return how this run turns counts into weights."""
        plain = Weighting(self.options.weighting, self.options.log_base, self.options.smooth)
        if not self.options.mean_one:
            return plain
        spectrum = counting.spectrum()
        return plain.with_mean_one(spectrum.counts, spectrum.texts)

    def frequencies(self, counting: Counting, *, lines: bool) -> Iterator[Any]:
        """Yield frequency records, as JSON lines or Arrow batches, the most frequent first (unless --no-rank)."""
        import pyarrow as pa

        draw, weigh = (render.as_lines if lines else render.as_batch), self.weighting(counting)
        rank = 1 if self.options.rank else None
        if not lines:  # a table has its columns even without a row
            yield draw(
                pa.array([], pa.string()),
                np.zeros(0, np.int64),
                first=rank,
                total=0,
                weighting=weigh,
            )
        bounds = [n for n in (self.options.top, self.options.limit) if n is not None]
        bound = min(bounds, default=None)
        for texts, counts in ahead(
            counting.ranked(bound) if self.options.rank else counting.unordered(bound)
        ):
            if len(counts):
                yield draw(texts, counts, first=rank, total=counting.total, weighting=weigh)
                rank = rank and rank + len(counts)

    def annotated(self) -> Iterator[Weighed]:
        """Yield the records of the inputs in turn, with their weights; the input itself is counted in a first pass."""
        limit, kept = self.options.limit, 0
        with (
            nullcontext() if self.options.counts else Spool() as spool,
            self.counted(spool) as counting,
        ):
            weigh = self.weighting(counting)

            def weights(texts: pa.ChunkedArray) -> np.ndarray:
                counts = counting.lookup(texts)
                self.unseen += int((counts == 0).sum()) if self.options.counts else 0
                return weigh(counts)

            held_bytes = self.options.memory // 32
            for part in annotate.weighed(spool or self.read(), weights, held_bytes=held_bytes):
                if limit is not None and kept + len(part[1]) > limit:
                    part = annotate.first(part, limit - kept)
                self.tally.keep(len(part[1]))
                kept += len(part[1])
                if len(part[1]):
                    yield part
                if kept == limit:
                    return


def spectra(counting: Counting) -> dict[str, Spectrum]:
    """Return the spectrum of each input by its short name, and of all of them if there are several."""
    names = corpus_names(counting.names)
    apart = {name: counting.spectrum(source) for source, name in names.items()}
    return {**apart, ALL: counting.spectrum()} if len(apart) != 1 else apart


def corpus_names(paths: dict[int, str]) -> dict[int, str]:
    """Return what to call each input: its file's name without suffixes, or all of its path where that is not enough."""
    short = {source: Path(path).name.split(".")[0] or path for source, path in paths.items()}
    taken = [*short.values(), ALL]
    named = {
        source: name.strip("<>") if taken.count(name) == 1 else paths[source]
        for source, name in short.items()
    }
    repeated = list(named.values())
    return {
        s: name if repeated.count(name) == 1 else f"{name} ({s + 1})" for s, name in named.items()
    }

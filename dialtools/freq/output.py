"""Frequencies, of one run or of all its parts, weighed records and summaries to their outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing, nullcontext
from itertools import chain, islice
from typing import Any

from dialtools.advance import Advance
from dialtools.freq.annotate import rendered
from dialtools.freq.imbalance import SCHEMA, Spectrum, imbalance
from dialtools.freq.job import Freq
from dialtools.freq.options import FreqOptions
from dialtools.options import Layer, resolve
from dialtools.streams.formats import FORMATS
from dialtools.streams.join import format_of_parts, join
from dialtools.streams.parts import Whole, telling_beside
from dialtools.streams.payloads import passed_on_format
from dialtools.streams.policy import Policy
from dialtools.streams.provenance import as_metadata
from dialtools.streams.sinks import is_stream, output_format, writer

Provenance = Callable[..., dict[str, Any]]
"""Returns what made the output, with the counts that it is given."""
OF_TEXTS = ("field", "unit", "ignore", "annotate")
"""Options of what is counted, which the parts have done."""


def check_outputs(options: FreqOptions) -> None:
    """Refuse, before anything is read, an output of which the format is unknown."""
    if options.output != "-":
        output_format(options.output, options.to)


def write_frequencies(freq: Freq, provenance: Provenance) -> None:
    """Count, and write the frequency records."""
    kind = output_format(freq.options.output, freq.options.to)
    freq.options.check_part_output(freq.options.output, lines=FORMATS[kind].lines)
    with (
        freq.counted() as counting,
        # a thread reads the counts: it ends before they go, whatever becomes of the output
        closing(freq.frequencies(counting, lines=FORMATS[kind].lines)) as payloads,
    ):
        counts = {"total": counting.total, "distinct": counting.distinct}
        _write(payloads, freq.options, kind, lambda: provenance(counts))


def write_gathered(
    whole: Whole, *, output: str, to: str | None, overwrite: bool, advance: Advance
) -> None:
    """Write the frequency records of one run over all that the parts have counted."""
    given: dict[str, Any] = whole.facts["options"]
    if given.get("annotate"):  # no counts, but records, one part after another
        join(whole, output, to=to, overwrite=overwrite, advance=advance)
        return
    kept = {name: value for name, value in given.items() if name not in OF_TEXTS}
    where = {"to": to or format_of_parts(whole), "output": output, "overwrite": overwrite}
    settings = kept | where | {"merge": True}
    options, _ = resolve(FreqOptions, [Layer("the parts", settings)])
    options.inputs = tuple(whole.paths)
    freq = Freq(options, Policy())
    write_frequencies(freq, lambda counts: whole.facts | {"counts": counts})
    advance(len(whole.paths))


def write_annotated(freq: Freq, provenance: Provenance) -> None:
    """Write the input with its weights.

    The format is that of the input, unless a suffix or --to names another.
    """
    options = freq.options
    with closing(freq.annotated()) as parts:  # whatever happens below, its temporary files go
        head = list(islice(parts, 1))
        columns = bool(head) and not head[0].is_lines
        kind = passed_on_format(options.output, options.to, columnar=columns)
        made = "" if columns else "records become rows of a table thousands at a time"
        options.check_part_output(options.output, lines=FORMATS[kind].lines, table=made)
        how = {"lines": FORMATS[kind].lines, "columns": columns}
        payloads = rendered(chain(head, parts), **how, at_once=is_stream(options.output))
        _write(payloads, options, kind, provenance)


def _write(
    payloads: Iterable[Any], options: FreqOptions, kind: str, provenance: Provenance
) -> None:
    lines = FORMATS[kind].lines
    metadata = {} if lines else as_metadata(provenance())
    overwrite = options.overwrite
    told_beside = options.shard and lines
    with (
        telling_beside(options.output, provenance) if told_beside else nullcontext(),
        writer(options.output, format=kind, overwrite=overwrite, metadata=metadata) as write,
    ):
        for payload in payloads:
            write(payload)


def summaries(spectra: dict[str, Spectrum]) -> list[dict[str, Any]]:
    """Return a record of figures for each corpus."""
    return [
        {"schema": SCHEMA, "corpus": name, **imbalance(spectrum)}
        for name, spectrum in spectra.items()
    ]

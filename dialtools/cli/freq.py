"""dial-freq - count utterances, tell how unevenly they repeat, and weigh pairs by it

  dial-freq chats.jsonl > counts.jsonl
  dial-freq --top 10 --field response pairs.jsonl
  dial-freq --summary --plot curve.svg chats.jsonl.zst tickets.jsonl
  dial-pairs --window 1,2,3 chats.jsonl | dial-freq --annotate > weighted.jsonl
  dial-freq --annotate --counts counts.jsonl pairs.arrow -o weighted.arrow
  dial-freq --merge counts.jsonl counts.jsonl -o merged.parquet

Counts the turns of dialogues, the responses of pairs, the texts of utterances, the lines of plain text, or any field of
any records. Texts are one when they are equal after --normalize: by default case and blanks do not matter and
punctuation does, as in WMDC. A response counts once for each (dialogue_id, turn) of an input, not once a window.

Out come frequency records {"text", "count", "share", "rank", "weight"}, the most frequent first, equal counts by
text. With --annotate the input itself comes out, in its order, each record with its "weight" 1/(ln f + 1): what the
recipe of WMDC in dial-train multiplies the loss of a pair by. Columns in give Arrow out, unless -o or --to says else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialtools.cli._command import command
from dialtools.cli._grid import Grid, on_screen, show
from dialtools.cli._run import Run
from dialtools.freq.options import FreqOptions

if TYPE_CHECKING:
    from dialtools.freq.count import Counting
    from dialtools.freq.job import Freq


@command(
    FreqOptions,
    memory="bounded by --memory: counts beyond it spill to disk, as does the input under --annotate",
)
def main(options: FreqOptions, run: Run) -> None:
    from dialtools.freq.job import Freq
    from dialtools.streams.atomic import refuse_existing
    from dialtools.streams.policy import Policy
    from dialtools.streams.sinks import output_format

    if options.plot:
        refuse_existing(options.plot, overwrite=options.overwrite)
    if options.output != "-":
        output_format(options.output, options.to)
        refuse_existing(options.output, overwrite=options.overwrite)
    with Policy(options.on_error) as policy, run.progress(None, "texts") as progress:
        freq = Freq(options, policy, progress.advance)
        if options.annotate:
            _annotate(freq, run)
            unseen = f"; {freq.unseen:,} not in --counts" if freq.unseen else ""
            line = f"{freq.tally.kept:,} records weighed{unseen}"
        else:
            with freq.counted() as counting:
                (_summarise if options.summary else _tell)(freq, counting, run)
            freq.tally.keep(counting.total)
            line = freq.tally.line("texts").replace(
                " texts", f" texts, {counting.distinct:,} distinct", 1
            )
    run.skipped = policy.skipped
    run.close(line + (f"; {policy.skipped:,} bad records skipped" if policy.skipped else ""))


def _tell(freq: Freq, counting: Counting, run: Run) -> None:
    from dialtools.streams.provenance import as_metadata
    from dialtools.streams.sinks import output_format, writer

    options = freq.options
    kind = output_format(options.output, options.to)
    metadata = (
        as_metadata(run.provenance({"total": counting.total, "distinct": counting.distinct}))
        if kind != "jsonl"
        else {}
    )
    with writer(
        options.output, format=kind, overwrite=options.overwrite, metadata=metadata
    ) as write:
        for payload in freq.frequencies(counting, lines=kind == "jsonl"):
            write(payload)


def _annotate(freq: Freq, run: Run) -> None:
    """Write in the format of the input, unless a suffix or --to names another."""
    import sys
    from contextlib import closing
    from itertools import chain, islice

    from dialtools.freq import annotate
    from dialtools.streams.provenance import as_metadata
    from dialtools.streams.sinks import output_format, writer

    options = freq.options
    with closing(freq.annotated()) as parts:  # whatever happens below, its temporary files go
        head = list(islice(parts, 1))
        columns = bool(head) and not isinstance(head[0][0], bytes)
        piped = columns and options.output == "-" and not sys.stdout.isatty()
        kind = output_format(options.output, options.to or ("arrow" if piped else None))
        payloads = annotate.rendered(chain(head, parts), kind=kind, columns=columns)
        metadata = as_metadata(run.provenance()) if kind != "jsonl" else {}
        with writer(
            options.output, format=kind, overwrite=options.overwrite, metadata=metadata
        ) as write:
            for payload in payloads:
                write(payload)


def _summarise(freq: Freq, counting: Counting, run: Run) -> None:
    """Print a table for a person or JSONL for a machine, and draw the curves."""

    from dialtools.freq.imbalance import SCHEMA, TOP, imbalance
    from dialtools.freq.job import spectra
    from dialtools.streams.sinks import write_records

    options, found = freq.options, spectra(counting)
    records = [
        {"schema": SCHEMA, "corpus": name, **imbalance(spectrum)}
        for name, spectrum in found.items()
    ]
    if options.plot:
        from dialtools.plots.curve import draw_shares

        curves = {name: spectrum.curve() for name, spectrum in found.items()}
        draw_shares(
            curves,
            options.plot,
            x_label="share of the distinct utterances, the most frequent first",
            y_label="share of all utterances",
            mark=TOP,
            overwrite=options.overwrite,
        )
    if on_screen(options.output) and not options.json:
        show(_table(records), run)
    else:
        write_records(records, options.output, to=options.to, overwrite=options.overwrite)


COLUMNS = {
    "total": ",",
    "distinct": ",",
    "distinct_share": ".1%",
    "top_1_percent_share": ".1%",
    "gini": ".3f",
    "entropy_bits": ".2f",
    "zipf_slope": ".2f",
}
TITLES = (
    "texts",
    "distinct",
    "distinct / texts",
    "in the top 1 %",
    "Gini",
    "entropy (bits)",
    "Zipf slope",
)


def _table(records: list[dict[str, Any]]) -> Grid:
    rows = []
    for record in records:
        cells = [
            "" if record[name] is None else format(record[name], style)
            for name, style in COLUMNS.items()
        ]
        rows.append([record["corpus"], *cells])
    return Grid(head=["corpus", *TITLES], rows=rows)

"""dial-freq - count utterances, tell how uneven they are, weigh pairs by it

  dial-freq chats.jsonl > counts.jsonl
  dial-freq --top 10 --field response pairs.jsonl
  dial-freq --summary --plot curve.svg chats.jsonl.zst tickets.jsonl
  dial-pairs --window 1,2 chats.jsonl | dial-freq --annotate > weighted.jsonl
  dial-freq --annotate --counts counts.jsonl pairs.arrow -o weighted.arrow
  dial-freq --merge counts.jsonl counts.jsonl -o merged.parquet

Counts the turns of dialogues, the responses of pairs, the texts of
utterances, the lines of plain text, or any field of any records. --ignore
says which texts count as one: by default case and blanks are ignored and
punctuation is not, as in WMDC. A response counts once for each (dialogue_id,
turn) of an input, however many windows it is in.

Writes frequency records {"text", "count", "share", "rank", "weight"}, the
most frequent first, equal counts by text. --annotate writes the input
instead, in its order, each record with its "weight" 1/(ln f + 1), by which
WMDC in dial-train multiplies the loss of a pair; of Parquet and Arrow it
writes Arrow, unless -o or --to says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialtools.cli._command import command
from dialtools.cli._grid import Grid, on_screen, show
from dialtools.cli._run import Run
from dialtools.freq.options import FreqOptions

if TYPE_CHECKING:
    from dialtools.freq.job import Freq

COLUMNS = {
    "texts": ("total", ","),
    "distinct": ("distinct", ","),
    "distinct / texts": ("distinct_share", ".1%"),
    "in the top 1 %": ("top_1_percent_share", ".1%"),
    "Gini": ("gini", ".3f"),
    "entropy (bits)": ("entropy_bits", ".2f"),
    "Zipf slope": ("zipf_slope", ".2f"),
}
"""Columns of the summary by their heads: the field of the record, and how its number is written."""


@command(
    FreqOptions,
    memory="bounded by --memory: counts beyond it spill to disk, "
    "as does the input under --annotate",
    multiplies=False,
)
def main(options: FreqOptions, run: Run) -> None:
    from dialtools.freq.job import Freq
    from dialtools.freq.output import check_outputs, write_annotated, write_frequencies

    check_outputs(options)
    run.cut_inputs()
    with run.policy() as policy, run.progress(None, "texts") as progress:
        freq = Freq(options, policy, progress.advance)
        if options.annotate:
            write_annotated(freq, run.provenance)
        elif options.summary:
            _report_imbalance(freq, run)
        else:
            write_frequencies(freq, run.provenance)
    for told in freq.notes():
        run.warn(told)
    run.close(freq.closing_line())


def _report_imbalance(freq: Freq, run: Run) -> None:
    """Draw the curves, and print a table for a person or JSONL for a machine."""
    from dialtools.freq.imbalance import TOP
    from dialtools.freq.job import spectra
    from dialtools.freq.output import summaries
    from dialtools.plots.curve import draw_shares
    from dialtools.streams.sinks import write_records

    options = freq.options
    with freq.counted() as counting:
        by_corpus = spectra(counting)
    if options.plot:
        draw_shares(
            {name: spectrum.curve() for name, spectrum in by_corpus.items()},
            options.plot,
            x_label="share of the distinct utterances, the most frequent first",
            y_label="share of all utterances",
            mark=TOP,
            tell=run.warn,
            overwrite=options.overwrite,
        )
    records = summaries(by_corpus)
    if on_screen(options.output) and not (options.json or options.to):
        show(imbalance_grid(records), run)
    else:
        write_records(records, options.output, to=options.to, overwrite=options.overwrite)


def imbalance_grid(records: list[dict[str, Any]]) -> Grid:
    """Return a row for each corpus; what is not known of one stays empty."""
    rows = []
    for record in records:
        values = ((record[field], style) for field, style in COLUMNS.values())
        cells = ["" if value is None else format(value, style) for value, style in values]
        rows.append([record["corpus"], *cells])
    return Grid(head=["corpus", *COLUMNS], rows=rows)


if __name__ == "__main__":
    main()

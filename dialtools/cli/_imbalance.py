"""How uneven utterances are, to a person or a machine: a table or records, and curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialtools.cli._grid import Grid, on_screen, show
from dialtools.cli._run import Run

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


def report_imbalance(freq: Freq, run: Run) -> None:
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
        cells = [_cell(record[field], style) for field, style in COLUMNS.values()]
        rows.append([record["corpus"], *cells])
    return Grid(head=["corpus", *COLUMNS], rows=rows)


def _cell(value: float | None, style: str) -> str:
    return "" if value is None else format(value, style)

"""dial-eval plot - embeddings on a plane, coloured by label

  dial-eval plot --part test clinc150.parquet -o clinc150.png
  dial-eval plot --method pca --coordinates xy.jsonl \\
    clinc.parquet -o clinc.svg
  dial-eval plot clinc150.parquet -o clinc150.html
  dial-eval plot --black oos --part test clinc150.parquet -o scope.svg

Draws a picture (.png, .svg, .pdf) or an interactive page (.html) of t-SNE or
principal components. The same seed gives the same picture.

A picture has a legend of up to 20 labels; more labels are written where their
points are, of more than 500 those with the most points. The page is a single
file. Hover shows a point's label and text, the search marks texts that contain
your words, a click on a label shows only that label, and the wheel zooms.

Libraries and fonts:

t-SNE is scikit-learn's, and openTSNE's above 20,000 points. If no font on
this machine has a script of the labels, a message says which to install. For
an .svg and the page, fonts are up to whoever shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dialtools.errors import ConfigError
from dialtools.eval.options.base import PartOptions
from dialtools.options import RunOptions, argument, option, output_option, restated
from dialtools.streams.formats import FOREIGN, OUTPUT_FORMATS, by_suffix, last_suffix
from dialtools.streams.options import OutputOptions, RowLimitOptions, VectorsOptions, column
from dialtools.values import PICTURES, at_least, bounded, composed


def record_file(text: str) -> str:
    """Check the name of a file of records; one without a known suffix is of JSON lines."""
    if last_suffix(text) in FOREIGN or by_suffix(text) not in (None, *OUTPUT_FORMATS):
        raise ValueError("name it .jsonl, .parquet or .arrow")
    return text


@dataclass
class PlotOptions(RowLimitOptions, RunOptions):
    """Options of `dial-eval plot`."""

    inputs: tuple[str, ...] = argument(help="an embedding file (default: stdin)")
    output: str = restated(
        OutputOptions,
        "output",
        default="",
        help=".png, .svg or .pdf for a paper; .html, one page to explore",
    )
    coordinates: str | None = output_option(
        None,
        metavar="FILE",
        parse=record_file,
        help="also write the points as data: x, y, label, text (JSONL, Parquet, Arrow)",
        how=True,
    )
    overwrite: bool = restated(OutputOptions, "overwrite")
    method: str = option(
        "tsne", choices=("tsne", "pca"), help="t-SNE, or the first two principal components"
    )
    perplexity: float = option(
        30.0,
        parse=bounded(low=1),
        help="perplexity of t-SNE; at most a third of the rows",
        goes_with=("method", ("tsne",)),
    )
    max_rows: int = option(
        0,
        parse=at_least(0),
        help="maximum number of rows; if there are more, a sample by --seed",
        shown="all",
    )
    vectors: str | None = restated(VectorsOptions, "vectors")
    label: str = column("label", help="column that gives a point its colour")
    black: str | None = option(
        None,
        metavar="LABEL",
        parse=composed,
        help="draw this label in black, behind the others, e.g. oos",
    )
    shape: str | None = column(
        None, help="column that gives a point its shape in a picture, e.g. speaker"
    )
    text: str = column("text", help="column that hover and search show (.html, --coordinates)")
    split: str = restated(
        PartOptions, "split", help="column that names the parts", goes_with="part"
    )
    part: str | None = column(None, help="show only this part", shown="all")

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if len(self.inputs) > 1:
            raise ConfigError("name one embedding file")
        if Path(self.output).suffix not in (*PICTURES, ".html"):
            raise ConfigError("-o FILE: name it .png, .svg, .pdf or .html")
        if self.output.endswith(".html") and (self.black or self.shape):
            raise ConfigError("--black and --shape are of pictures: .png, .svg or .pdf")
        shows_texts = self.output.endswith(".html") or self.coordinates
        if self.text != PlotOptions.text and not shows_texts:
            raise ConfigError("--text is for .html and --coordinates: a picture shows none")

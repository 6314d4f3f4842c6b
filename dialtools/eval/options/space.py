"""dial-eval space - the shape of spaces: how even, how close texts of a label

  dial-eval space clinc150.parquet
  dial-eval space --plot space.svg clinc150.parquet banking77.parquet

Reports these measures of the unit vectors:
  uniformity      log of the mean of exp(-2 |x - y|^2) over pairs
  alignment       mean of |x - y|^2 over pairs with one label
  average-cosine  mean cosine of all pairs
  intra-cosine    mean cosine of pairs with one label
  inter-cosine    mean cosine of pairs with two labels
  margin          intra-cosine minus inter-cosine
  effective-rank  exp of the entropy of their singular values, once centred
  isotropy        smallest partition function divided by the largest

For uniformity and alignment lower is better, for isotropy and margin higher.
Isotropy looks along each principal direction both ways. A row of zeros stays
one.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.eval.options.base import PartOptions
from dialtools.options import option, output_option, restated
from dialtools.streams.options import VectorsOptions, column
from dialtools.values import at_least, picture


@dataclass
class SpaceOptions(PartOptions):
    """Options of `dial-eval space`."""

    def __post_init__(self) -> None:
        if self.name and len(self.inputs) > 1:
            raise ConfigError("--name is of one file; several are told apart by their own")

    each: None = None  # no option: these measures are of pairs, not of single items
    vectors: str | None = restated(VectorsOptions, "vectors")
    label: str = column(
        "label", help="column of the labels; without it, only measures that need no labels"
    )
    max_rows: int = option(
        20_000,
        parse=at_least(2),
        help="maximum rows of a file or part; if there are more, a sample by --seed",
    )
    plot: str | None = output_option(
        None,
        metavar="FILE",
        parse=picture,
        help="draw uniformity against alignment, a point per file (.png, .svg, .pdf)",
        how=True,
    )

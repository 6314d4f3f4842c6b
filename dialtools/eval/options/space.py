"""dial-eval space - the shape of spaces: how even, how close texts of a label

  dial-eval space clinc150.parquet
  dial-eval space --plot space.svg clinc150.parquet banking77.parquet

Of unit vectors: uniformity, log of the mean of exp(-2 |x - y|^2) over pairs;
alignment, the mean of |x - y|^2 over pairs with one label; the mean cosine,
of all pairs, of pairs with one label (intra) and with two (inter), and the
margin between the last two; the effective rank, exp of the entropy of the
singular values; isotropy, the smallest by the largest partition function. For
uniformity and alignment lower is better, for isotropy and margin higher.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import PartOptions
from dialtools.options import option, restated
from dialtools.streams.options import VectorsOptions
from dialtools.values import at_least, picture


@dataclass
class SpaceOptions(PartOptions):
    """Options of `dial-eval space`."""

    vectors: str | None = restated(VectorsOptions, "vectors")
    label: str = option(
        "label",
        metavar="NAME",
        group="Input",
        help="column of the labels; without it, what needs none",
    )
    most: int = option(
        20_000,
        metavar="N",
        parse=at_least(2),
        help="rows of a file at most; of more, a sample by --seed",
    )
    plot: str | None = option(
        None,
        metavar="FILE",
        parse=picture,
        group="Output",
        help="draw uniformity over alignment, a point for each file (.png, .svg, .pdf)",
        how=True,
    )

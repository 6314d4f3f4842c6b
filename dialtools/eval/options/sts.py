"""dial-eval sts - compare cosines with annotated similarity

  dial-embed --model model/ --field text1,text2 sick.jsonl -o sick.parquet
  dial-eval sts sick.parquet
  dial-eval sts --part trial sick.parquet

Reports correlations (spearman, pearson), times 100, of the cosine of two
texts with their score: for each split, and for all rows. Equal scores share
the mean of their ranks. Intervals are of other rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import PartOptions
from dialtools.options import argument, input_option
from dialtools.streams.options import column
from dialtools.values import two_names


@dataclass
class StsOptions(PartOptions):
    """Options of `dial-eval sts`."""

    inputs: tuple[str, ...] = argument(
        help="embeddings of two texts a row, and their score (default: stdin)"
    )
    texts: tuple[str, ...] = input_option(
        (),
        metavar="A,B",
        parse=two_names,
        help="names of the two texts",
        shown="those that have vectors",
    )
    score: str = column("score", help="column of the annotated scores")

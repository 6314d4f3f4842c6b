"""dial-eval entail - is a text nearer to its entailment than to its contradiction?

  dial-embed --model model/ --field text1,text2 snli.jsonl -o snli.parquet
  dial-eval entail --part test snli.parquet
  dial-embed --model dse/ --field anchor,entailment,contradiction \\
    triplets.jsonl -o triplets.parquet
  dial-eval entail triplets.parquet

A triplet is right if the cosine of anchor and entailment is higher than that
of anchor and contradiction; accuracy is the share of right ones. Ties count as
wrong, and their number is reported.

From labelled pairs (premise, hypothesis, label) the triplets are built: every
entailment of a premise with every contradiction, or, with --triplets first,
the first with the first. Premises without both are left out and counted.

The interval is of other anchors. Triplets of one anchor stay together.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import PartOptions
from dialtools.options import argument, option
from dialtools.streams.options import column
from dialtools.values import two_labels, two_names


@dataclass
class EntailOptions(PartOptions):
    """Options of `dial-eval entail`."""

    inputs: tuple[str, ...] = argument(
        help=(
            "embeddings of anchor, entailment and contradiction, or of labelled pairs (default: "
            "stdin)"
        )
    )
    texts: tuple[str, ...] = option(
        (),
        metavar="A,B",
        parse=two_names,
        group="Input",
        help="premise and hypothesis of labelled pairs",
        shown="those that have vectors",
    )
    label: str = column("label", help="column of the pairs' labels")
    labels: tuple[str, ...] = option(
        ("entailment", "contradiction"),
        metavar="YES,NO",
        parse=two_labels,
        group="Input",
        help="values of that column for the two sides, e.g. 0,2",
    )
    triplets: str = option(
        "all",
        choices=("all", "first"),
        help=(
            "pairs of a premise to combine: every entailment with every contradiction, or the "
            "first with the first"
        ),
    )

"""dial-eval retrieve - rank texts of the same kind before others

  dial-embed --model model/ jddc.jsonl -o jddc.parquet
  dial-eval retrieve --part test jddc.parquet
  dial-eval retrieve --lists bm25 --candidates 50 clinc150.parquet
  dial-eval retrieve --lists nearest --part train clinc150.parquet

Candidates are ranked by cosine. They are given as ids in `positives` and
`negatives` (of column `id`, else row numbers from 0, within the row's split),
or BM25 finds them for every text among the others of its split: the first
100, those of its label positive and at most 30, the further ones left out, as
DialogueCSE built its sets. Queries that lack positives or negatives tell
nothing and are not counted. Equal scores share their places in expectation,
so that one vector for everything scores at `chance`, what random order gives
on these lists: of 30 in 70, MAP 46.0 and MRR 63.7. Rows of one text have the
vector of the first of them.

--lists nearest asks no lists: same-of-5 is the share of the 5 rows nearest to
a row that have its label, itself among them, as the code of DSE counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import PartOptions
from dialtools.options import argument, option
from dialtools.values import at_least, int_list

BY_BM25 = ("lists", ("auto", "bm25"))


@dataclass
class RetrieveOptions(PartOptions):
    """Options of `dial-eval retrieve`."""

    inputs: tuple[str, ...] = argument(
        help="embeddings of texts, with lists of ids or with labels (default: stdin)"
    )
    lists: str = option(
        "auto",
        choices=("auto", "given", "bm25", "nearest"),
        help=(
            "given: columns positives and negatives; bm25: made of labelled texts; auto: "
            "given where there are any, else bm25; nearest: of all rows, by their labels"
        ),
    )
    neighbours: tuple[int, ...] = option(
        (5, 10, 20, 50, 100),
        metavar="K[,K...]",
        parse=int_list,
        help="nearest: how many rows are looked at",
        goes_with=("lists", ("nearest",)),
    )
    label: str = option(
        "label", metavar="NAME", group="Input", help="column of the labels, for bm25 and nearest"
    )
    text: str = option("text", metavar="NAME", group="Input", help="column of the texts")
    candidates: int = option(
        100,
        metavar="N",
        parse=at_least(2),
        group="BM25",
        help="texts that BM25 finds for a query",
        goes_with=BY_BM25,
    )
    positives: int = option(
        30,
        metavar="N",
        parse=at_least(1),
        group="BM25",
        help="of those with its label at most; further ones are left out",
        goes_with=BY_BM25,
    )

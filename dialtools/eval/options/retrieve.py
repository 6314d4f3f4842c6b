"""dial-eval retrieve - rank texts of the same kind before others

  dial-embed --model model/ jddc.jsonl -o jddc.parquet
  dial-eval retrieve --part test jddc.parquet
  dial-eval retrieve --lists bm25 --candidates 50 clinc150.parquet
  dial-eval retrieve --lists nearest --part train clinc150.parquet

Ranks the candidates of each query by cosine and reports MAP and MRR. The
candidates are given as ids in `positives` and `negatives`, or BM25 finds
them. Queries that lack positives or negatives are not counted.

Equal scores share their places in expectation. One vector for everything
therefore scores at `chance`, what random order gives on these lists: with 30
positives among 70 candidates, MAP 46.0 and MRR 63.7. Rows with the same text
have the vector of the first of them.

Scores:

Settings name where the candidates come from (given, bm25 or nearest); what
ranks them are always the vectors.
  map        mean over queries of the average precision
  mrr        mean over queries of 1 / the rank of the first positive
  same-of-K  rows with the query's label, of K nearest (--lists nearest)

Lists of candidates:

Given ids are of column `id`, or else row numbers from 0, within the row's
split.

BM25 (k1 = 1.5, b = 0.75, Lucene's idf; lower-cased words) searches the other
texts of the split for every text and takes the first 100, of equal scores the
lower row. Those with the query's label are positive, at most 30; further ones
are left out. This is how DialogueCSE built its sets.

--lists nearest needs no lists: same-of-5 is the share of the 5 rows nearest
to a row that have its label, the row itself included, as DSE's code counts.
Here, of equal cosines, the lower row is nearer.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import PartOptions
from dialtools.options import argument, option
from dialtools.streams.options import column
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
            "given: columns positives and negatives; bm25: made from labelled texts; auto: "
            "given if there are any, else bm25; nearest: among all rows, by their labels"
        ),
    )
    k: tuple[int, ...] = option(
        (5, 10, 20, 50, 100),
        short="-k",
        metavar="K[,K...]",
        parse=int_list,
        help="nearest: numbers of rows to look at",
        goes_with=("lists", ("nearest",)),
    )
    label: str = column("label", help="column of the labels, for bm25 and nearest")
    text: str = column("text", help="column of the texts")
    candidates: int = option(
        100,
        parse=at_least(2),
        group="BM25",
        help="texts that BM25 finds per query",
        goes_with=BY_BM25,
    )
    positives: int = option(
        30,
        parse=at_least(1),
        group="BM25",
        help="take at most N of them with the query's label; further ones are left out",
        goes_with=BY_BM25,
    )

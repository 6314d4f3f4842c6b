"""dial-eval select - find the response among candidates

  dial-eval select heldout.parquet
  dial-eval select --sampling random --seed 7 --candidates 50 heldout.parquet
  dial-eval select --pool candidates.parquet --duplicates count \\
    queries.parquet

The candidates of a query are:
  by default         the responses of N consecutive rows (an incomplete last
                     block is dropped)
  --sampling random  N - 1 drawn responses and the true one
  --pool FILE        those that the query lists

Consecutive rows of a log make a hard question: a query's own last turn, the
response of the row before, is among its candidates, and an encoder of texts
finds that first. --sampling random asks an easier question.

Given candidates:

Records of `history`, `response` and `candidates` (texts) are embedded twice:
as queries by dial-embed --field history, and as a pool by dial-embed --per
candidate.

Scores:

top-1, top-3, top-5 and top-10 are the queries whose response is among the
best 1, 3, 5 or 10 candidates; mrr is the mean of 1 / its rank.

Duplicates, ties and intervals:

A candidate with the text of the true response is left out, or counted against
it (--duplicates). A query without any other is left out. Equal scores share
their places in expectation (--ties average). Queries of a block share their
candidates, so intervals, and the tests of dial-eval compare, are over blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import FileOptions
from dialtools.metrics import TIES
from dialtools.options import argument, input_option, option
from dialtools.streams.options import column
from dialtools.values import at_least


@dataclass
class SelectOptions(FileOptions):
    """Options of `dial-eval select`."""

    inputs: tuple[str, ...] = argument(
        help="embeddings of pairs: context_embedding and response_embedding (default: stdin)"
    )
    query: str | None = column(
        None,
        help="vectors of the queries",
        shown="context_embedding, history_embedding or query_embedding",
    )
    response: str = column("response_embedding", help="vectors of the responses", not_with="pool")
    text: str = column("response", help="column of the response texts, to find duplicates")
    pool: str | None = input_option(
        None,
        metavar="FILE",
        help=(
            "embeddings of candidates, - is stdin; each query then lists its `candidates` by "
            "the pool's id or text, and the true one in `positive` or `response`"
        ),
    )
    candidates: int = option(
        100,
        parse=at_least(2),
        help="candidates per query, including the true response",
        not_with="pool",
    )
    sampling: str = option(
        "blocks",
        choices=("blocks", "random"),
        help=(
            "blocks: responses of N consecutive rows, as in the DSE reference; random: drawn by"
            " --seed"
        ),
        not_with="pool",
    )
    ties: str = option(
        "average",
        choices=TIES,
        help="place of the true response among equal scores: in the middle, first, last",
    )
    duplicates: str = option(
        "drop",
        choices=("drop", "count"),
        help=(
            "candidates with the text of the true response: leave them out, or count them "
            "against it"
        ),
    )

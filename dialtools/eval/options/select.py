"""dial-eval select - find the response among candidates

  dial-eval select heldout.parquet
  dial-eval select --sampling random --seed 7 --candidates 50 heldout.parquet
  dial-eval select --pool candidates.parquet --duplicates count \\
    queries.parquet

Candidates are the responses of N consecutive rows (the last incomplete block
is dropped), N - 1 drawn ones, or given lists: records of `history`,
`response` and `candidates` (texts) are embedded twice, as queries by
dial-embed --field history and as a pool by dial-embed --per candidate. A
candidate with the text of the true response is left out, or counted against
it; equal scores share the places they hold in expectation (--ties average).
Queries of a block share their candidates: intervals, and the tests of
dial-eval compare, are over blocks. Consecutive rows of a log put a query's
own last turn among its candidates, the response of the row before, and an
encoder of texts finds that first: --sampling random asks an easier question.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import FileOptions
from dialtools.metrics import TIES
from dialtools.options import argument, option
from dialtools.values import at_least


@dataclass
class SelectOptions(FileOptions):
    """Options of `dial-eval select`."""

    inputs: tuple[str, ...] = argument(
        help="embeddings of pairs: context_embedding and response_embedding (default: stdin)"
    )
    query: str | None = option(
        None,
        metavar="NAME",
        group="Input",
        help="vectors of the queries",
        shown="context_embedding, history_embedding or query_embedding",
    )
    response: str = option(
        "response_embedding", metavar="NAME", group="Input", help="vectors of the responses"
    )
    text: str = option(
        "response",
        metavar="NAME",
        group="Input",
        help="column of the response texts, to tell duplicates",
    )
    pool: str | None = option(
        None,
        metavar="FILE",
        group="Input",
        help=(
            "embeddings of candidates, - is stdin; queries then list `candidates` by the pool's"
            " id or text, the true one in `positive` or `response`"
        ),
    )
    candidates: int = option(
        100, metavar="N", parse=at_least(2), help="candidates a query, the true response among them"
    )
    sampling: str = option(
        "blocks",
        choices=("blocks", "random"),
        help="blocks: those of N consecutive rows, as the DSE reference; random: drawn by --seed",
    )
    ties: str = option(
        "average", choices=TIES, help="the true response among equals: in the middle, first, last"
    )
    duplicates: str = option(
        "drop",
        choices=("drop", "count"),
        help="candidates with the text of the true response: left out, or against it",
    )

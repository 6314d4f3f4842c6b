"""Options of the tasks that compare vectors: select, retrieve, sts, entail."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.eval.options.base import PartOptions, ReportOptions
from dialtools.metrics import TIES
from dialtools.options import argument, option
from dialtools.values import at_least, name_list, two_names


@dataclass
class SelectOptions(ReportOptions):
    """Options of `dial-eval select`."""

    inputs: tuple[str, ...] = argument(
        help="embeddings of pairs: context_embedding and response_embedding"
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
        help="embeddings of candidates; queries then list `candidates` by the pool's id or text, the true one in `positive` or `response`",
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


@dataclass
class StsOptions(PartOptions):
    """Options of `dial-eval sts`."""

    inputs: tuple[str, ...] = argument(help="embeddings of two texts a row, and their score")
    texts: tuple[str, ...] = option(
        (),
        metavar="A,B",
        parse=name_list,
        group="Input",
        help="the two texts",
        shown="those that have vectors",
    )
    score: str = option(
        "score", metavar="NAME", group="Input", help="column of the annotated scores"
    )

    def __post_init__(self) -> None:
        if len(self.texts) not in (0, 2):
            raise ConfigError("--texts: name two", hint="e.g. --texts text1,text2")


@dataclass
class EntailOptions(PartOptions):
    """Options of `dial-eval entail`."""

    inputs: tuple[str, ...] = argument(
        help="embeddings of anchor, entailment and contradiction, or of labelled pairs"
    )
    texts: tuple[str, ...] = option(
        (),
        metavar="A,B",
        parse=two_names,
        group="Input",
        help="premise and hypothesis of labelled pairs",
        shown="those that have vectors",
    )
    label: str = option("label", metavar="NAME", group="Input", help="column of the pairs' labels")
    labels: tuple[str, ...] = option(
        ("entailment", "contradiction"),
        metavar="YES,NO",
        parse=two_names,
        group="Input",
        help="its values for the two sides, e.g. 0,2",
    )
    triplets: str = option(
        "all",
        choices=("all", "first"),
        help="of the pairs of a premise: every entailment with every contradiction, or the first with the first",
    )


@dataclass
class RetrieveOptions(PartOptions):
    """Options of `dial-eval retrieve`."""

    inputs: tuple[str, ...] = argument(help="embeddings of texts, with lists of ids or with labels")
    lists: str = option(
        "auto",
        choices=("auto", "given", "bm25"),
        help="given: columns positives and negatives; bm25: made of labelled texts; auto: given where there are any",
    )
    label: str = option(
        "label", metavar="NAME", group="Input", help="column of the labels, for bm25"
    )
    text: str = option("text", metavar="NAME", group="Input", help="column of the texts, for bm25")
    candidates: int = option(
        100, metavar="N", parse=at_least(2), group="BM25", help="texts that BM25 finds for a query"
    )
    positives: int = option(
        30,
        metavar="N",
        parse=at_least(1),
        group="BM25",
        help="of those with its label at most; further ones are left out",
    )

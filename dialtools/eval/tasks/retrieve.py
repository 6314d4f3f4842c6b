"""Semantic retrieval: do texts of the same kind come first among candidates? (METHODS 5.6)

A list is a query row, its candidates, and which of them are positive; lists are ragged and lie one
after the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dialtools.errors import DataError
from dialtools.eval.identity import identity
from dialtools.eval.options.retrieve import RetrieveOptions
from dialtools.eval.rows import rows_by_part
from dialtools.eval.score import Scored, of_queries
from dialtools.metrics.ranking import average_precision, exact_scores, first_reciprocal_rank
from dialtools.metrics.space import unit
from dialtools.streams.vectors import Embeddings, read_embeddings
from dialtools.words import index_terms

METRICS = {"map": average_precision, "mrr": first_reciprocal_rank}
BLOCK = 512
GIVEN = ("positives", "negatives")


class Lists(NamedTuple):
    """Candidates of Q queries.

    Attributes:
        queries, sizes: (Q,) the row of each query, and how many candidates it has.
        candidate, positive: the row of each candidate, and its kind, one list after the other.
    """

    queries: np.ndarray
    sizes: np.ndarray
    candidate: np.ndarray
    positive: np.ndarray


def evaluate(options: RetrieveOptions) -> Scored:
    """Return MAP and MRR in percent of each part, beside what random order gives.

    Raises:
        DataError: if no query has both positives and negatives.
    """
    source, scores = read_embeddings(options.inputs), []
    given = options.lists == "given" or (
        options.lists == "auto" and all(name in source.columns for name in GIVEN)
    )
    for setting, part in rows_by_part(source, split=options.split, part=options.part).items():
        lists = given_lists(part) if given else bm25_lists(part, options)
        if not len(lists.queries):
            raise DataError(
                f"no query has both positives and negatives among its {len(part)} rows",
                where=part.name,
            )
        facts = {
            "task": "retrieve",
            "dataset": options.name or source.name,
            "seed": options.seed,
            "setting": f"{setting} {'given' if given else 'bm25'}".strip(),
            "items": identity(part.columns, lists.queries, also=(options.label, options.text)),
        }
        cosine = similarities(part.matrix, lists)
        for metric, function in METRICS.items():
            score = of_queries(
                100 * function(cosine, lists.positive, lists.sizes), metric=metric, **facts
            )
            score.chance = 100 * float(
                function(np.zeros_like(cosine), lists.positive, lists.sizes).mean()
            )
            scores.append(score)
    return Scored(scores, source.metadata)


def similarities(vectors_ND: np.ndarray, lists: Lists) -> np.ndarray:
    """Return the cosine of each candidate with its query; equal vectors have equal ones."""
    vectors, found = unit(vectors_ND), []
    ends = np.cumsum(lists.sizes)
    for start in range(0, len(lists.queries), BLOCK):
        sizes = lists.sizes[start : start + BLOCK]
        rows = lists.candidate[ends[start] - sizes[0] : ends[start + len(sizes) - 1]]
        pool, place = np.unique(rows, return_inverse=True)
        scores = exact_scores(vectors[lists.queries[start : start + BLOCK]], vectors[pool])
        found.append(scores[np.repeat(np.arange(len(sizes)), sizes), place])
    return np.concatenate(found)


def given_lists(part: Embeddings) -> Lists:
    """Return the lists of columns `positives` and `negatives`.

    They name values of column `id`, else row numbers from 0.

    Rows without lists are candidates only. A query in its own list is left out.

    Raises:
        DataError: for an id that no row has, or that is on both lists.
    """
    names = part.columns.get("id") or range(len(part))
    place = {str(name): row for row, name in enumerate(names)}
    if len(place) < len(part):
        raise DataError(
            "ids are not distinct",
            where=part.name,
            hint="is there a split column? --split names it",
        )
    listed = []
    for row, (good, bad) in enumerate(zip(*(part.column(name) for name in GIVEN), strict=True)):
        if good is None and bad is None:
            continue
        kinds = [
            _rows(ids, row, kind, place, part) for kind, ids in zip(GIVEN, (good, bad), strict=True)
        ]
        both = next(iter(kinds[0].keys() & kinds[1].keys()), None)
        if both is not None:
            raise DataError(f"row {row + 1}: {both!r} is positive and negative", where=part.name)
        listed.append(
            (row, *(np.asarray([r for r in kind.values() if r != row], np.int64) for kind in kinds))
        )
    return _lists(listed)


def _rows(ids: Any, row: int, kind: str, place: dict[str, int], part: Embeddings) -> dict[str, int]:
    if not isinstance(ids, list):
        raise DataError(f"row {row + 1}: {kind}: expected a list of ids", where=part.name)
    try:
        return {str(name): place[str(name)] for name in ids}
    except KeyError as error:
        raise DataError(
            f"row {row + 1}: {kind} names {error}, which no row is", where=part.name
        ) from None


def bm25_lists(part: Embeddings, options: RetrieveOptions) -> Lists:
    """Return the texts that BM25 finds for each row: those of its label are positive.

    DialogueCSE 5.2.

    Texts equal to the query's are left out (case and blanks apart), as are positives beyond the
    first --positives. Rows with an empty label are candidates that are never positive, and no
    queries.
    """
    import bm25s

    texts, labels = part.column(options.text), part.column(options.label)
    odd = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if odd is not None:
        raise DataError(f"row {odd + 1}: {options.text}: expected a text", where=part.name)
    terms = [index_terms(text) or [""] for text in texts]
    key = np.unique([" ".join(text.lower().split()) for text in texts], return_inverse=True)[1]
    kind = np.unique([str(label) for label in labels], return_inverse=True)[1]
    index = bm25s.BM25()
    index.index(terms, show_progress=False)
    copies = int(np.unique(key, return_counts=True)[1].max())
    depth = min(len(texts), options.candidates + copies)
    listed = []
    for row in range(len(texts)):
        if labels[row] is None:
            continue
        scores = index.get_scores(terms[row])
        best = np.flatnonzero(
            scores >= np.partition(scores, len(scores) - depth)[len(scores) - depth]
        )
        best = best[
            np.argsort(-scores[best], kind="stable")
        ]  # equal scores in the order of the rows
        best = best[(key[best] != key[row]) & (scores[best] > 0)][: options.candidates]
        same = kind[best] == kind[row]
        listed.append((row, best[same][: options.positives], best[~same]))
    return _lists(listed)


def _lists(listed: list[tuple[int, np.ndarray, np.ndarray]]) -> Lists:
    """Join the lists of queries that have both kinds; the others tell nothing."""
    told = [(row, good, bad) for row, good, bad in listed if len(good) and len(bad)]
    candidate = [rows for _, good, bad in told for rows in (good, bad)]
    kind = [np.full(len(rows), i % 2 == 0) for i, rows in enumerate(candidate)]
    none = np.zeros(0, np.int64)
    return Lists(
        np.asarray([row for row, _, _ in told], np.int64),
        np.asarray([len(good) + len(bad) for _, good, bad in told], np.int64),
        np.concatenate([none, *candidate]),
        np.concatenate([none.astype(bool), *kind]),
    )

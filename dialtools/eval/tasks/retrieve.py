"""Semantic retrieval: do texts of the same kind come first? (DialogueCSE; DSE's code)

Among candidates: a list is a query row, its candidates, and which of them are positive; lists are
ragged and lie one after the other. Or among all rows: the nearest of each.

N rows, Q queries, K nearest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from dialtools.corpora import fields, splits
from dialtools.errors import ConfigError, DataError
from dialtools.eval.identity import about
from dialtools.eval.labelled import numbers
from dialtools.eval.options.base import protocol
from dialtools.eval.options.retrieve import RetrieveOptions
from dialtools.eval.rows import rows_by_part
from dialtools.eval.score import Score, Scored, of_queries, shares
from dialtools.metrics.nearest import best_rows, exact_scores, nearest_rows
from dialtools.metrics.ranking import average_precision, first_reciprocal_rank, precision_gains
from dialtools.metrics.space import unit
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import Embeddings
from dialtools.words import index_terms

METRICS = {"map": average_precision, "mrr": first_reciprocal_rank}
BLOCK = 512
"""Queries whose candidates are scored at once: one matrix product over all of them."""
LIST_COLUMNS = ("positives", "negatives")


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


class Query(NamedTuple):
    """A row, and the rows that are to come before and after each other when ranked by it."""

    row: int
    positives: np.ndarray
    negatives: np.ndarray


def evaluate(options: RetrieveOptions) -> Scored:
    """Return MAP and MRR in percent of each part, beside what random order gives.

    Of --lists nearest the share of the nearest that have the row's label.

    Raises:
        DataError: if no query has both positives and negatives.
        ConfigError: if lists of several files name rows by their numbers; if options of BM25's
            lists are given to a file that has its own.
    """
    source = read_embeddings(options.files, limit=options.limit)
    lists = options.lists
    if lists == "auto":
        lists = "given" if all(name in source.columns for name in LIST_COLUMNS) else "bm25"
        if lists == "given" and {"candidates", "positives"} & protocol(options).keys():
            what = "has its own lists; --candidates and --positives are of those that BM25 makes"
            raise ConfigError(what, where=source.name, hint="--lists bm25")
    if lists == "given" and len(options.files) > 1 and "id" not in source.columns:
        message = "lists of row numbers are of one file"
        raise ConfigError(message, hint="an id in each row, or one file at a time")
    parts = rows_by_part(source, split=options.split, part=options.part)
    scores: list[Score] = []
    notes: list[str] = []
    for name, part in parts.items():
        setting = f"{name} {lists}".strip()
        if lists == "nearest":
            scores += _nearest_scores(part, setting, options)
            deep = ", ".join(str(k) for k in options.k if k > len(part))
            notes += [f"--k {deep}: there are {len(part):,} rows"] if deep else []
        else:
            found = given_lists(part) if lists == "given" else bm25_lists(part, options)
            scores += _list_scores(part, found, setting, options)
    return Scored(scores, source.metadata, notes)


def _list_scores(
    part: Embeddings, lists: Lists, setting: str, options: RetrieveOptions
) -> list[Score]:
    if not len(lists.queries):
        rows = counted(len(part), "row")
        raise DataError(f"{rows}: no query has both positives and negatives", where=part.name)
    telling = (options.label, options.text)
    facts = about("retrieve", part, setting, options, rows=lists.queries, also=telling)
    cosine = similarities(one_vector_a_text(part, options.text), lists)
    scores = []
    gains = precision_gains(cosine, lists.positive, lists.sizes)
    given_N = np.bincount(lists.candidate, gains, minlength=len(part))
    for metric, function in METRICS.items():
        values_Q = function(cosine, lists.positive, lists.sizes)
        by_chance_Q = function(np.zeros_like(cosine), lists.positive, lists.sizes)
        if metric == "map" and given_N[lists.queries].any():
            score = _of_rows(values_Q, given_N[lists.queries], metric=metric, **facts)
        else:
            score = of_queries(100 * values_Q, metric=metric, **facts)
        score.chance = 100 * float(by_chance_Q.mean())
        scores.append(score)
    return scores


def _of_rows(values_Q: np.ndarray, given_Q: np.ndarray, **facts: Any) -> Score:
    """Return the score of queries that are candidates of each other.

    Other test rows would be other candidates, too, so intervals and tests are of both: halves of
    BANK77 differ by as much as these say, by 1.4 times what queries alone say.

    Args:
        given_Q: by how much each query, as a candidate, raises the values of the others, summed.
    """
    given_Q = given_Q - given_Q.mean()
    score = of_queries(100 * (values_Q + given_Q), **facts)
    score.each = {"own": shares(values_Q), "candidate": shares(given_Q)}
    return score


def _nearest_scores(part: Embeddings, setting: str, options: RetrieveOptions) -> list[Score]:
    """Return the share of the rows nearest to each that have its label, itself the first of them.

    So counts the reference of DSE. Rows without a label are near to others, and are no queries.
    """
    label_N = numbers(part.column(options.label))
    depths = [k for k in options.k if k <= len(part)]
    queries = np.flatnonzero(label_N >= 0)
    if not depths or not len(queries):
        raise DataError(
            f"{counted(len(part), 'row')}, {len(queries)} of them with a label: none to look at",
            where=part.name,
        )
    vectors_ND = unit(one_vector_a_text(part, options.text))
    others_QK = other_rows(nearest_rows(vectors_ND[queries], vectors_ND, max(depths)), queries)
    own_Q1 = label_N[queries][:, None]
    found_QK = 1 + np.cumsum(label_N[others_QK] == own_Q1, axis=1)
    found_QK = np.hstack([np.ones_like(own_Q1), found_QK])
    alike_Q = np.bincount(label_N + 1)[label_N[queries] + 1] - 1

    telling = (options.label, options.text)
    facts = about("retrieve", part, setting, options, rows=queries, also=telling)
    scores = []
    for k in depths:
        score = of_queries(100 * found_QK[:, k - 1] / k, metric=f"same-of-{k}", **facts)
        by_chance = alike_Q.mean() / max(len(part) - 1, 1)
        score.chance = 100 * (1 + (k - 1) * float(by_chance)) / k
        scores.append(score)
    return scores


def other_rows(nearest_QK: np.ndarray, queries_Q: np.ndarray) -> np.ndarray:
    """Return (Q, K-1) rows without the query itself, or without the last where it is not there."""
    itself_QK = nearest_QK == queries_Q[:, None]
    itself_QK[~itself_QK.any(1), -1] = True
    return nearest_QK[~itself_QK].reshape(len(nearest_QK), -1)


def one_vector_a_text(part: Embeddings, text: str) -> np.ndarray:
    """Return (N, D) vectors, those of equal texts the same: what was embedded in two batches ties.

    Args:
        text: the column of the texts; without it, or in rows without one, vectors are as they are.
    """
    texts = part.column_if(text, usual=RetrieveOptions.text)
    if texts is None:
        return part.matrix
    _, first, which = np.unique(splits.numbered(texts), return_index=True, return_inverse=True)
    return part.matrix[first[which]]


def similarities(vectors_ND: np.ndarray, lists: Lists) -> np.ndarray:
    """Return the cosine of each candidate with its query; equal vectors have equal ones."""
    unit_ND = unit(vectors_ND)
    ends_Q = np.cumsum(lists.sizes)
    cosines = []
    for start in range(0, len(lists.queries), BLOCK):
        queries = lists.queries[start : start + BLOCK]
        sizes = lists.sizes[start : start + BLOCK]
        candidates = lists.candidate[ends_Q[start] - sizes[0] : ends_Q[start + len(sizes) - 1]]
        pool, place = np.unique(candidates, return_inverse=True)
        scores = exact_scores(unit_ND[queries], unit_ND[pool])
        cosines.append(scores[np.repeat(np.arange(len(sizes)), sizes), place])
    return np.concatenate(cosines)


def given_lists(part: Embeddings) -> Lists:
    """Return the lists of columns `positives` and `negatives`.

    They name values of column `id`, else row numbers from 0. Rows without lists are candidates
    only. A query in its own list is left out.

    Raises:
        DataError: for an id that no row has, or that is on both lists.
    """
    names = part.columns.get("id") or range(len(part))
    place = {fields.as_text(name): row for row, name in enumerate(names)}
    if len(place) < len(part):
        raise DataError(
            "ids are not distinct",
            where=part.name,
            hint="is there a split column? --split names it",
        )
    queries = []
    for row, (positives, negatives) in enumerate(
        zip(part.column("positives"), part.column("negatives"), strict=True)
    ):
        if positives is None and negatives is None:
            continue
        good = _rows(positives, row, "positives", place, part)
        bad = _rows(negatives, row, "negatives", place, part)
        if both := good.keys() & bad.keys():
            raise DataError(
                f"row {part.place(row)}: {min(both)!r} is positive and negative", where=part.name
            )
        queries.append(Query(row, _without(row, good.values()), _without(row, bad.values())))
    return _lists(queries)


def _without(row: int, rows: Iterable[int]) -> np.ndarray:
    return np.asarray([other for other in rows if other != row], np.int64)


def _rows(ids: Any, row: int, kind: str, place: dict[str, int], part: Embeddings) -> dict[str, int]:
    if not isinstance(ids, list):
        raise DataError(f"row {part.place(row)}: {kind}: expected a list of ids", where=part.name)
    try:
        return {name: place[name] for name in map(fields.as_text, ids)}
    except KeyError as error:
        raise DataError(
            f"row {part.place(row)}: {kind} names {error}, which no row is", where=part.name
        ) from None


def bm25_lists(part: Embeddings, options: RetrieveOptions) -> Lists:
    """Return the texts that BM25 finds for each row; those of its label are positive.

    This is how DialogueCSE 5.2 makes its lists. Texts equal to the query's are left out (case and
    blanks apart), as are positives beyond the first --positives. Rows with an empty label are
    candidates that are never positive, and no queries.
    """
    import bm25s

    texts, label_N = part.column(options.text, fields.text), numbers(part.column(options.label))
    terms = [index_terms(text) or [""] for text in texts]
    same_but_case = [" ".join(text.lower().split()) for text in texts]
    text_N = np.unique(same_but_case, return_inverse=True)[1]
    index = bm25s.BM25()
    index.index(terms, show_progress=False)

    # as many as are wanted, and the copies of the query's text that will be left out
    copies = int(np.unique(text_N, return_counts=True)[1].max())
    depth = options.candidates + copies
    queries = []
    for row in range(len(texts)):
        if label_N[row] < 0:
            continue
        scores_N = index.get_scores(terms[row])
        best = best_rows(scores_N, depth)
        best = best[(text_N[best] != text_N[row]) & (scores_N[best] > 0)][: options.candidates]
        same = label_N[best] == label_N[row]
        queries.append(Query(row, best[same][: options.positives], best[~same]))
    return _lists(queries)


def _lists(queries: list[Query]) -> Lists:
    """Join the lists of queries that have both kinds; the others tell nothing."""
    whole = [query for query in queries if len(query.positives) and len(query.negatives)]
    candidates, kinds = [np.zeros(0, np.int64)], [np.zeros(0, bool)]
    for query in whole:
        candidates += [query.positives, query.negatives]
        kinds += [np.ones(len(query.positives), bool), np.zeros(len(query.negatives), bool)]
    return Lists(
        queries=np.asarray([query.row for query in whole], np.int64),
        sizes=np.asarray([len(q.positives) + len(q.negatives) for q in whole], np.int64),
        candidate=np.concatenate(candidates),
        positive=np.concatenate(kinds),
    )

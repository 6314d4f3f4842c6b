"""Response selection: does a context find its response among candidates?"""

from __future__ import annotations

from typing import Any

import numpy as np

from dialtools.corpora import splits
from dialtools.corpora.fields import as_text
from dialtools.errors import DataError
from dialtools.eval.identity import about
from dialtools.eval.options.select import SelectOptions
from dialtools.eval.sanity import note_on_alone
from dialtools.eval.score import Score, Scored, of_queries
from dialtools.metrics.nearest import exact_scores, first_equal
from dialtools.metrics.ranking import block_ranks, ranks, selection, without_rivals
from dialtools.metrics.space import unit
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import check_one_space, read_embeddings
from dialtools.streams.vectors import Embeddings

QUERY = ("context_embedding", "history_embedding", "query_embedding")
ALONE = -1
"""Rank of a response that is the only candidate, but for its copies: nothing is asked of it."""


def evaluate(options: SelectOptions) -> Scored:
    """Return top-1/3/5/10 and MRR in percent."""
    source = read_embeddings(options.files, limit=options.limit)
    if options.pool:
        pool = read_embeddings([options.pool])
        check_one_space([source, pool])
        ranks_Q2 = given_lists(source, pool, options)
        setting = "given candidates"
    else:
        ranks_Q2 = among_rows(source, options)
        setting = f"1-of-{options.candidates} {options.sampling}"
    rows = np.flatnonzero(_asked(ranks_Q2))  # the incomplete last block asks nothing
    facts = about("select", source, setting, options, rows=rows, also=(options.text,))
    alone = len(ranks_Q2) - len(rows)
    notes = [note_on_alone(alone)] if alone else []
    if not options.pool and options.sampling == "random":
        notes += _note_on_few(source, options)
    return Scored(scores(ranks_Q2, options, **facts), source.metadata, notes)


def scores(ranks_Q2: np.ndarray, options: SelectOptions, **facts: Any) -> list[Score]:
    """Return top-1/3/5/10 and MRR of ranks, without those that are ALONE.

    Queries of a block share their candidates, and stay together.

    Raises:
        DataError: if all are.
    """
    asked_Q = _asked(ranks_Q2)
    if not asked_Q.any():
        raise DataError("no query has a candidate but its response", where=facts["dataset"])
    if not options.pool and options.sampling == "blocks":
        block_Q = np.flatnonzero(asked_Q) // options.candidates
        facts["groups"] = np.unique(block_Q, return_inverse=True)[1].tolist()
    of_each = selection(ranks_Q2[asked_Q], ties=options.ties)
    return [of_queries(100 * values_Q, metric=name, **facts) for name, values_Q in of_each.items()]


def _asked(ranks_Q2: np.ndarray) -> np.ndarray:
    return ranks_Q2[:, 0] != ALONE


def among_rows(source: Embeddings, options: SelectOptions) -> np.ndarray:
    """Return (N, 2) ranks of each row's response among those of other rows, or ALONE.

    Blocks: the rows of each N consecutive ones, the incomplete last block dropped (DSE). Random: N
    - 1 other rows drawn without replacement.

    Raises:
        DataError: if there are fewer rows than candidates.
    """
    query_ND = unit(_query(source, options))
    response_ND = unit(source.vector(options.response))
    if len(source) < options.candidates:
        raise DataError(
            f"{counted(len(source), 'row')}, fewer than the {options.candidates} candidates",
            where=source.name,
            hint="--candidates N",
        )
    text_N = _text_ids(source, options, response_ND)
    if options.sampling == "random":
        return _among_drawn(query_ND, response_ND, text_N, options)
    whole = len(source) // options.candidates * options.candidates
    ranks_N2 = block_ranks(query_ND[:whole], response_ND[:whole], options.candidates, same_N=text_N)
    ranks_N2[without_rivals(text_N[:whole], options.candidates)] = ALONE
    return ranks_N2


def _among_drawn(
    query_ND: np.ndarray, response_ND: np.ndarray, text_N: np.ndarray, options: SelectOptions
) -> np.ndarray:
    draw, n = np.random.default_rng(options.seed), len(query_ND)
    copies = np.bincount(text_N)
    ranks_N2 = np.empty((n, 2), np.int64)
    for row in range(n):
        others = n - int(copies[text_N[row]])
        want = min(options.candidates - 1, others)
        rows = _draw(draw, want, others, text_N, text_N[row])
        ranks_N2[row] = _rank(query_ND[row], response_ND, row, rows)
    return ranks_N2


def _note_on_few(source: Embeddings, options: SelectOptions) -> list[str]:
    """Return the note on queries with fewer candidates than asked for, but for those with none."""
    text_N = _text_ids(source, options, unit(source.vector(options.response)))
    candidates_N = 1 + len(text_N) - np.bincount(text_N)[text_N]
    few = candidates_N[(candidates_N > 1) & (candidates_N < options.candidates)]
    if not len(few):
        return []
    told = f"{len(few):,} of {counted(len(text_N), 'row')} have fewer than {options.candidates:,}"
    return [f"{told} candidates, {few.min():,} at least: too few rows have another text"]


def _draw(
    draw: np.random.Generator, want: int, others: int, text_N: np.ndarray, text: int
) -> list[int]:
    """Return `want` distinct rows of the others, which are not of a text."""
    if 2 * want > others:  # the last of them would be long in coming
        return draw.choice(np.flatnonzero(text_N != text), want, replace=False).tolist()
    chosen: dict[int, None] = {}
    while len(chosen) < want:
        rows = draw.integers(0, len(text_N), 2 * (want - len(chosen)))
        chosen.update((int(row), None) for row in rows if text_N[row] != text)
    return list(chosen)[:want]


def _text_ids(source: Embeddings, options: SelectOptions, response_ND: np.ndarray) -> np.ndarray:
    """Return (N,) an integer for each response, the same where none is the other's candidate.

    That is for each distinct text; without texts, for each vector.
    """
    if options.duplicates == "count":
        return np.arange(len(source))
    texts = source.column_if(options.text, usual=SelectOptions.text)
    return first_equal(response_ND) if texts is None else np.asarray(splits.numbered(texts))


def _places(pool: Embeddings) -> dict[str, int]:
    """Return the row of each candidate of a pool by its id, or by its text that is no id."""
    place: dict[str, int] = {}
    for row, name in enumerate(pool.columns.get("id", ())):
        if place.setdefault(as_text(name), row) < row:
            raise DataError(f"two rows have the id {name}", where=pool.name)
    for row, text in enumerate(pool.columns.get("text", ()) if place else pool.column("text")):
        if text is not None:
            place.setdefault(as_text(text), row)
    return place


def _query(source: Embeddings, options: SelectOptions) -> np.ndarray:
    """Return the vectors of the queries: those named, else of a usual field, else the only ones."""
    name = options.query or next((name for name in QUERY if name in source.vectors), None)
    return source.vector(name) if name else source.matrix


def given_lists(source: Embeddings, pool: Embeddings, options: SelectOptions) -> np.ndarray:
    """Return (N, 2) ranks of each query's true candidate among those that it lists, or ALONE.

    It lists them by id or text of the pool. The true one is a candidate once, whether the list has
    it or not.

    Raises:
        DataError: for a candidate that the pool does not have, or ids that are not distinct.
    """
    place = _places(pool)
    texts = pool.column_if(options.text, usual=SelectOptions.text) or pool.columns.get("text")
    told = texts if texts and options.duplicates == "drop" else [None] * len(pool)
    query_ND, pool_MD = unit(_query(source, options)), unit(pool.matrix)
    truth = source.column("positive" if "positive" in source.columns else "response")

    ranks_N2 = np.empty((len(source), 2), np.int64)
    for row, (listed, true) in enumerate(zip(source.column("candidates"), truth, strict=True)):
        if not isinstance(listed, list):
            raise DataError(f"row {row + 1}: candidates: expected a list", where=source.name)
        candidates = [*map(as_text, [true, *listed])]
        missing = next((name for name in candidates if name not in place), None)
        if missing is not None:
            raise DataError(
                f"row {row + 1} names candidate {missing!r}, which {pool.name} does not have",
                where=source.name,
                hint="dial-embed --per candidate embeds them all",
            )
        first, *others = (place[name] for name in candidates)
        own = told[first]
        rivals = [o for o in others if o != first and (own is None or told[o] != own)]
        ranks_N2[row] = _rank(query_ND[row], pool_MD, first, rivals)
    return ranks_N2


def _rank(query_D: np.ndarray, pool_MD: np.ndarray, true: int, others: list[int]) -> np.ndarray:
    """Return (2,) the rank of a row of a pool among others; ALONE, if there are none."""
    if not others:
        return np.full(2, ALONE)
    scores = exact_scores(query_D[None], pool_MD[[true, *others]])
    return ranks(scores, np.zeros(1, np.int64))[0]

"""Response selection: does a context find its response among candidates? (METHODS 3.5)"""

from __future__ import annotations

from typing import Any

import numpy as np

from dialtools.errors import DataError
from dialtools.eval.identity import identity
from dialtools.eval.options.select import SelectOptions
from dialtools.eval.score import Score, Scored, of_queries
from dialtools.metrics.ranking import exact_scores, ranks, reciprocal_rank, top_k
from dialtools.metrics.space import unit
from dialtools.streams.vectors import Embeddings, read_embeddings

TOP = (1, 3, 5, 10)
QUERY = ("context_embedding", "history_embedding", "query_embedding")


def evaluate(options: SelectOptions) -> Scored:
    """Return top-1/3/5/10 and MRR in percent."""
    source = read_embeddings(options.inputs)
    if options.pool:
        found, setting = (
            given_lists(source, read_embeddings([options.pool]), options),
            "given candidates",
        )
    else:
        found = among_rows(source, options)
        setting = f"1-of-{options.candidates} {options.sampling}"
    asked = np.arange(len(found))  # the incomplete last block asks nothing
    facts = {
        "task": "select",
        "dataset": options.name or source.name,
        "setting": setting,
        "seed": options.seed,
        "items": identity(source.columns, asked, also=(options.text,)),
    }
    return Scored(scores(found, options, **facts), source.metadata)


def scores(found: np.ndarray, options: SelectOptions, **facts: Any) -> list[Score]:
    """Return top-1/3/5/10 and MRR of (N, 2) ranks.

    Queries of a block share their candidates, and stay together.
    """
    if not options.pool and options.sampling == "blocks":
        facts["groups"] = [row // options.candidates for row in range(len(found))]
    tops = [
        of_queries(100 * top_k(found, k, ties=options.ties), metric=f"top-{k}", **facts)
        for k in TOP
    ]
    return [
        *tops,
        of_queries(100 * reciprocal_rank(found, ties=options.ties), metric="mrr", **facts),
    ]


def among_rows(source: Embeddings, options: SelectOptions) -> np.ndarray:
    """Return (N, 2) ranks of each row's response among those of other rows.

    Blocks: the rows of each N consecutive ones, the incomplete last block dropped (DSE). Random: N
    - 1 other rows drawn without replacement, never one with the text of the true response.

    Raises:
        DataError: if there are fewer rows than candidates.
    """
    query, response = unit(_query(source, options)), unit(source.vector(options.response))
    size, n = options.candidates, len(source)
    if n < size:
        raise DataError(
            f"{n} rows, fewer than the {size} candidates of a query",
            where=source.name,
            hint="--candidates N",
        )
    same = _text_ids(source, options, response)
    if options.sampling == "random":
        return _random(query, response, same, options)
    parts = []
    for start in range(0, n // size * size, size):
        rows = slice(start, start + size)
        valid = None if options.duplicates == "count" else same[rows, None] != same[None, rows]
        parts.append(
            ranks(exact_scores(query[rows], response[rows]), np.arange(size), valid_QC=valid)
        )
    return np.concatenate(parts)


def _random(
    query: np.ndarray, response: np.ndarray, same: np.ndarray, options: SelectOptions
) -> np.ndarray:
    draw, size, n = np.random.default_rng(options.seed), options.candidates, len(query)
    counts = np.bincount(same)
    found = np.empty((n, 2), np.int64)
    for i in range(n):
        others = min(size - 1, n - int(counts[same[i]]))
        rows = np.asarray(_draw(draw, others, n, same, same[i]), np.int64)
        scores = exact_scores(query[i][None], response[np.concatenate([[i], rows])])
        found[i] = ranks(scores, np.zeros(1, np.int64))[0]
    return found


def _draw(draw: np.random.Generator, want: int, n: int, same: np.ndarray, own: int) -> list[int]:
    """Return `want` distinct rows that are not of the own text."""
    chosen: dict[int, None] = {}
    while len(chosen) < want:
        chosen.update(
            (int(r), None) for r in draw.integers(0, n, 2 * (want - len(chosen))) if same[r] != own
        )
    return list(chosen)[:want]


def _text_ids(source: Embeddings, options: SelectOptions, response: np.ndarray) -> np.ndarray:
    """Return (N,) an integer for each distinct response text; without texts, for each vector."""
    keys: list[Any] = source.columns.get(options.text) or [row.tobytes() for row in response]
    index: dict[Any, int] = {}
    return np.fromiter((index.setdefault(key, len(index)) for key in keys), np.int64, len(keys))


def _query(source: Embeddings, options: SelectOptions) -> np.ndarray:
    """Return the vectors of the queries: those named, else of a field that is one, else the only."""
    found = options.query or next((name for name in QUERY if name in source.vectors), None)
    return source.vector(found) if found else source.matrix


def given_lists(source: Embeddings, pool: Embeddings, options: SelectOptions) -> np.ndarray:
    """Return (N, 2) ranks of each query's true candidate among those that it lists.

    It lists them by id or text of the pool.

    The true one is a candidate once, whether the list has it or not.

    Raises:
        DataError: for a candidate that the pool does not have.
    """
    place = {
        str(name): i for i, name in enumerate(pool.column("id" if "id" in pool.columns else "text"))
    }
    query, response = unit(_query(source, options)), unit(pool.matrix)
    texts = next((pool.columns[c] for c in (options.text, "text") if c in pool.columns), None)
    truth = source.column("positive" if "positive" in source.columns else "response")
    found = []
    for i, (listed, true) in enumerate(zip(source.column("candidates"), truth, strict=True)):
        if not isinstance(listed, list):
            raise DataError(f"row {i + 1}: candidates: expected a list", where=source.name)
        try:
            rows = [
                place[name]
                for name in (str(true), *(str(c) for c in listed if str(c) != str(true)))
            ]
        except KeyError as error:
            raise DataError(
                f"row {i + 1} names candidate {error}, which {pool.name} does not have",
                where=source.name,
                hint="dial-embed --per candidate embeds them all",
            ) from None
        valid = np.ones((1, len(rows)), bool)
        if texts and options.duplicates == "drop":
            valid[0] = [texts[r] != texts[rows[0]] for r in rows]
        found.append(
            ranks(
                exact_scores(query[i][None], response[rows]), np.zeros(1, np.int64), valid_QC=valid
            )[0]
        )
    return np.asarray(found).reshape(-1, 2)

"""What `dialtools search` does once the texts have vectors. Q texts, D dimensions."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from dialtools.advance import silent
from dialtools.metrics.space import unit
from dialtools.near.find import nearest_rows_of, nearest_vectors
from dialtools.near.rows import ROW, Rows, columns_of, without
from dialtools.near.search_options import SearchOptions
from dialtools.streams.rows import values

OWN = ("query", "rank", "cosine", ROW)


def found_records(
    rows: Rows, texts: tuple[str, ...], vectors_QD: np.ndarray, options: SearchOptions
) -> list[dict[str, Any]]:
    """Return the nearest rows of each text, the nearest first."""
    least = -inf if options.min_cosine is None else options.min_cosine
    query_QD = unit(vectors_QD).astype(np.float32)
    table = nearest_vectors(query_QD, rows.vectors, count=options.k, floor=least, advance=silent)
    found = nearest_rows_of(table, np.arange(len(texts)), rows, count=options.k)
    near = {name: values(column) for name, column in columns_of(rows.fields, found.row).items()}
    told = without(near, *OWN)
    records: list[dict[str, Any]] = []
    for i, (query, rank, cosine) in enumerate(
        zip(found.query.tolist(), found.rank.tolist(), found.cosine.tolist(), strict=True)
    ):
        own = {"query": texts[query], "rank": rank, "cosine": cosine, ROW: near[ROW][i]}
        fields = {name: column[i] for name, column in told.items() if column[i] is not None}
        records.append(own | fields)
    return records

"""Frequency records as JSON lines or Arrow batches, a column at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import orjson

from dialtools.freq import columns
from dialtools.freq.weights import Weighting

if TYPE_CHECKING:
    import pyarrow as pa


def as_batch(
    texts: pa.Array, counts: np.ndarray, *, first: int | None, total: int, weighting: Weighting
) -> pa.RecordBatch:
    """Return frequency records as a batch; `first` is the rank of the first text, None leaves ranks out."""
    import pyarrow as pa

    ranks = {} if first is None else {"rank": np.arange(first, first + len(counts))}
    columns = {
        "text": texts,
        "count": counts,
        "share": counts / total if total else np.zeros(0),
        **ranks,
        "weight": weighting(counts).astype(np.float32),
    }
    kinds = {
        "text": pa.string(),
        "count": pa.int64(),
        "share": pa.float64(),
        "rank": pa.int64(),
        "weight": pa.float32(),
    }
    return pa.RecordBatch.from_pydict(
        columns, schema=pa.schema({name: kinds[name] for name in columns})
    )


def as_lines(
    texts: pa.Array, counts: np.ndarray, *, first: int | None, total: int, weighting: Weighting
) -> bytes:
    """Return frequency records as JSON lines: what depends on the count alone is written once a count."""
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct, which = np.unique(counts, return_inverse=True)
    rank = "" if first is None else '"rank":'
    told = zip(
        distinct.tolist(), (distinct / total).tolist(), weighting(distinct).tolist(), strict=True
    )
    parts = [
        (
            f'","count":{n},"share":{_json(share)},{rank}',
            f'{"" if first is None else ","}"weight":{_json(weight)}}}\n',
        )
        for n, share, weight in told
    ]
    before, after = (
        pa.array(column, pa.string()).take(pa.array(which)) for column in zip(*parts, strict=True)
    )
    ranks = (
        ()
        if first is None
        else (pa.array(np.arange(first, first + len(counts))).cast(pa.string()),)
    )
    lines = pc.binary_join_element_wise('{"text":"', escaped(texts), before, *ranks, after, "")
    return columns.parts(lines)[1].tobytes()


def escaped(texts: pa.Array) -> pa.Array:
    """Return the texts as they stand between the quotes of JSON."""
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets, data = columns.parts(texts)
    special = np.flatnonzero((data < 32) | (data == ord('"')) | (data == ord("\\")))
    if not len(special):
        return texts
    rows = np.zeros(len(texts), bool)
    rows[np.searchsorted(offsets, special, side="right") - 1] = True
    quoted = [
        orjson.dumps(text).decode()[1:-1] for text in texts.filter(pa.array(rows)).to_pylist()
    ]
    return pc.replace_with_mask(texts, pa.array(rows), pa.array(quoted, pa.string()))


def _json(number: float) -> str:
    return orjson.dumps(number).decode()

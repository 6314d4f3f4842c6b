"""Frequency records as JSON lines or Arrow batches, a column at a time."""

from __future__ import annotations

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from dialtools.freq.weights import Weighting
from dialtools.streams.text_columns import escaped, offsets_and_bytes

KINDS = {
    "text": pa.string(),
    "count": pa.int64(),
    "share": pa.float64(),
    "rank": pa.int64(),
    "weight": pa.float32(),
}


def as_batch(
    texts: pa.Array, counts: np.ndarray, *, first: int | None, total: int, weighting: Weighting
) -> pa.RecordBatch:
    """Return frequency records as a batch.

    Args:
        first: the rank of the first text; None leaves ranks out.
        total: of all counts, of which each is a share.
    """
    ranks = {} if first is None else {"rank": np.arange(first, first + len(counts))}
    columns = {
        "text": texts,
        "count": counts,
        "share": counts / total if total else np.zeros(0),
        **ranks,
        "weight": weighting(counts).astype(np.float32),
    }
    schema = pa.schema({name: KINDS[name] for name in columns})
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def as_lines(
    texts: pa.Array, counts: np.ndarray, *, first: int | None, total: int, weighting: Weighting
) -> bytes:
    """Return frequency records as JSON lines; see `as_batch`.

    What depends on the count alone is written once a count.
    """
    encoded = pa.array(counts).dictionary_encode()
    distinct = np.asarray(encoded.dictionary)
    shares = (distinct / total).tolist()
    weights = weighting(distinct).tolist()
    rank, comma = ("", "") if first is None else ('"rank":', ",")
    before = [
        f'","count":{n},"share":{_json(share)},{rank}'
        for n, share in zip(distinct.tolist(), shares, strict=True)
    ]
    after = [f'{comma}"weight":{_json(weight)}}}\n' for weight in weights]

    pieces = ['{"text":"', escaped(texts), _of_counts(before, encoded.indices)]
    if first is not None:
        pieces.append(pa.array(np.arange(first, first + len(counts))).cast(pa.string()))
    pieces.append(_of_counts(after, encoded.indices))
    lines = pc.binary_join_element_wise(*pieces, "")
    return offsets_and_bytes(lines)[1].tobytes()


def _of_counts(texts: list[str], which: pa.Array) -> pa.Array | str:
    """Return (T,) the text of each row's count, or the one of all."""
    return texts[0] if len(texts) == 1 else pa.array(texts, pa.string()).take(which)


def _json(value: float) -> str:
    return orjson.dumps(value).decode()

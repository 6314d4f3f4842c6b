"""What a run of dial-embed would do, told before it is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from dialtools.embed.compress import vector_names
from dialtools.embed.embedder import Embedder, Shard
from dialtools.encoder.sequences import flat_sequences
from dialtools.encoder.token_vectors import UNBOUNDED
from dialtools.encoder.word_vectors import WordVectors
from dialtools.streams.tally import counted


def plan(embedder: Embedder, shards: Iterable[Shard], dimensions: int) -> dict[str, str]:
    """Tokenise the records of all shards, encode none; return the lines of the plan by name.

    Args:
        dimensions: of the vectors that are written.
    """
    extent = _extent(embedder, shards)
    options = embedder.options
    vectors = vector_names(options, embedder.fields)
    number_bytes = np.dtype(options.dtype).itemsize
    size = extent["rows"] * len(vectors) * dimensions * number_bytes
    longest = embedder.model.settings.max_length
    cut = "none is cut" if longest >= UNBOUNDED else f"{extent['cut']:,} texts cut at {longest}"
    lines = {
        "rows": f"{extent['rows']:,}, in shards of {options.shard_rows:,}: {extent['shards']:,}",
        "texts": (
            f"{extent['distinct']:,} to encode (distinct within a shard), "
            f"{extent['tokens']:,} tokens, {cut}"
        ),
        "vectors": (
            f"{', '.join(vectors)}: {counted(dimensions, 'dimension')}, {options.dtype}, "
            f"{size / 2**20:,.1f} MiB"
        ),
        "carried": ", ".join(embedder.columns.names) or "nothing",
    }
    device = embedder.device_note()
    return {**lines, "device": device} if device else lines


def _extent(embedder: Embedder, shards: Iterable[Shard]) -> Counter[str]:
    """Return how many shards, rows, distinct texts, tokens and cut texts there are."""
    extent = Counter[str]()
    encoder = embedder.model.encoder
    for shard in shards:
        texts = list(dict.fromkeys(embedder.items(shard)))
        extent.update(shards=1, rows=len(shard), distinct=len(texts))
        if not isinstance(encoder, WordVectors):
            flat, _, too_long = flat_sequences(encoder, texts, embedder.model.settings.max_length)
            extent.update(tokens=len(flat[0]), cut=int(too_long.sum()))
        embedder.advance(len(texts))
    return extent

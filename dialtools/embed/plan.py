"""What a run of dial-embed would do, told before it is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dialtools.corpora.turns import turns_of
from dialtools.embed.embedder import Embedder, Record
from dialtools.embed.fields import vector_name
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.sequences import sequences_of


@dataclass
class Extent:
    """How much there is to do."""

    shards: int = 0
    rows: int = 0
    distinct: int = 0
    tokens: int = 0
    cut: int = 0


def plan(embedder: Embedder, shards: Iterable[list[Record]]) -> dict[str, str]:
    """Tokenise the records of all shards, encode none; return the lines of the plan by name."""
    extent = _measured(embedder, shards)
    options = embedder.options
    vectors = ", ".join(vector_name(name, embedder.fields) for name in embedder.fields)
    dimensions = options.dimensions or embedder.model.dimension
    number_bytes = 2 if options.dtype == "float16" else 4
    size = extent.rows * len(embedder.fields) * dimensions * number_bytes
    longest = embedder.model.settings.max_length
    lines = {
        "rows": f"{extent.rows:,}, in shards of {options.shard_rows:,}: {extent.shards:,}",
        "texts": (
            f"{extent.distinct:,} to encode (distinct within a shard), {extent.tokens:,} tokens, "
            f"{extent.cut:,} texts cut at {longest}"
        ),
        "vectors": f"{vectors}: {dimensions} dimensions, {options.dtype}, {size / 2**20:,.1f} MiB",
        "carried": ", ".join(embedder.columns) or "nothing",
    }
    device = embedder.device_note()
    return {**lines, "device": device} if device else lines


def _measured(embedder: Embedder, shards: Iterable[list[Record]]) -> Extent:
    extent = Extent()
    encoder = embedder.model.encoder
    for shard in shards:
        items = (turns_of(record, name) for name in embedder.fields for _, record in shard)
        texts = list(dict.fromkeys(items))
        extent.shards += 1
        extent.rows += len(shard)
        extent.distinct += len(texts)
        if isinstance(encoder, Encoder):
            sequences, _, too_long = sequences_of(
                encoder, texts, embedder.model.settings.max_length
            )
            extent.tokens += sum(map(len, sequences))
            extent.cut += int(too_long.sum())
        embedder.advance(len(texts))
    return extent

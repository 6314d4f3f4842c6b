"""What a run of dial-embed would do, told before it is done."""

from __future__ import annotations

from collections.abc import Iterable

from dialtools.corpora.turns import turns_of
from dialtools.embed.fields import vector_name
from dialtools.embed.job import Job, Record
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.sequences import sequences_of


def plan(job: Job, records: Iterable[Record]) -> dict[str, str]:
    """Read and tokenise every record, encode none; return the plan in lines of a name and what is to be said of it."""
    rows = shards = distinct = tokens = cut = 0
    longest = job.settings.max_length
    for shard in job.shards(records):
        job.settle(shard)
        texts = dict.fromkeys(turns_of(record, name) for name in job.fields for _, record in shard)
        shards, rows, distinct = shards + 1, rows + len(shard), distinct + len(texts)
        if isinstance(job.encoder, Encoder):
            sequences, _, too_long = sequences_of(job.encoder, list(texts), longest)
            tokens, cut = tokens + sum(map(len, sequences)), cut + int(too_long.sum())
        job.advance(len(texts))
    vectors = [vector_name(name, job.fields) for name in job.fields]
    width = 2 if job.options.dtype == "float16" else 4
    dimensions = job.options.dimensions or job.encoder.dimension
    size = rows * len(vectors) * dimensions * width
    lines = {
        "rows": f"{rows:,}, in shards of {job.options.shard_rows:,}: {shards:,}",
        "texts": f"{distinct:,} to encode (distinct within a shard), {tokens:,} tokens, {cut:,} texts cut at {longest}",
        "vectors": f"{', '.join(vectors)}: {dimensions} dimensions, {job.options.dtype}, {size / 2**20:,.1f} MiB",
        "carried": ", ".join(job.columns) or "nothing",
    }
    return lines | (
        {"device": f"{job.encoder.device}, {job.settings.precision}"}
        if isinstance(job.encoder, Encoder)
        else {}
    )

"""dial-embed - embed text with a model, in batches, resumable

  dial-embed --model model/ tickets.jsonl -o tickets.parquet
  dial-embed --model model/ --field context,response pairs.jsonl -o pairs.parquet
  dial-embed --model model/ --resume --dtype float16 chats.jsonl.zst -o chats.parquet
  dial-embed --model model/ --per turn chats.jsonl -o turns.parquet
  dial-embed --model model/ --whiten --save-transform whiten.safetensors tickets.jsonl -o white.parquet
  dial-embed --model glove.txt tickets.jsonl -o glove.parquet
  dial-embed --model model/ --templates augmented.jsonl --compress 0.2 tickets.jsonl -o compressed.parquet
  dial-embed --model model/ --dry-run tickets.jsonl -o tickets.parquet
  cat lines.txt | dial-embed --model model/ --from text --to jsonl | head

Records come in as JSONL, Parquet or Arrow, or text one a line; fields that are not embedded travel along. A list of
turns is joined as in training and keeps its newest tokens; --field history+response joins two fields so. --per turn
makes a row of each turn of a dialogue: its own fields (speaker, acts, ...) beside the vector of the history that ends
with it. --transform changes finished vectors, by what is fitted to them all or, with --fit-on, to other embeddings of
the same model. A model may be a text file of word vectors: a text is their average. --templates adds to each text's vector that of the nearest
template (cosine), or mixes the two: lambda t + (1 - lambda) u, of unit vectors. FILE appears when all is done; until then finished shards
lie in FILE.partial/, and --resume repeats none of them: the result has the bytes of an unbroken run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.embed.options import EmbedOptions

if TYPE_CHECKING:
    from dialtools.embed.job import Job
    from dialtools.embed.shard import Settings
    from dialtools.embed.transformed import Transform


@command(EmbedOptions, memory="the model, and one shard of rows (--shard-rows) with its vectors")
def main(options: EmbedOptions, run: Run) -> None:
    from dialtools.cli._torch import start_torch

    start_torch(options.threads)
    from dialtools.corpora.read import read_records
    from dialtools.embed.compress import Compression
    from dialtools.embed.job import Job
    from dialtools.embed.plan import plan
    from dialtools.embed.sink import embedding_format
    from dialtools.embed.transformed import Transform
    from dialtools.streams.atomic import refuse_existing
    from dialtools.streams.policy import Policy

    kind = embedding_format(options.output, options.to, dry=options.dry_run)
    if options.output != "-":
        refuse_existing(options.output, overwrite=options.overwrite)
    encoder, settings = _encoder(options)
    space = {
        "weights": encoder.digest(),
        "pooling": encoder.pooling,
        "normalize": settings.normalize,
    }
    transform = Transform(options, space)
    compression = (
        None if options.dry_run else Compression(options, encoder, settings)
    )  # it encodes the templates
    with (
        Policy(options.on_error, dry=options.dry_run) as policy,
        run.progress(None, "texts") as progress,
    ):
        job = Job(encoder, options, settings, space, policy, progress.advance)
        records = read_records(options.inputs, format=options.from_, policy=policy)
        if compression is None:
            lines = plan(job, records)
        else:
            finish = lambda batch: compression(transform(batch))  # noqa: E731
            (_stream if options.output == "-" else _shards)(
                job, records, kind, transform, finish, run
            )
    run.skipped = policy.skipped
    skipped = f"; {policy.skipped:,} bad records skipped" if policy.skipped else ""
    if compression is None:
        output = "stdout" if options.output == "-" else options.output
        return run.tell_plan({**lines, "writes": f"{output} as {kind}{skipped}"})
    if job.cut and options.on_truncate == "warn":
        run.warn(
            f"{job.cut:,} of {job.rows * max(1, len(job.fields)):,} texts cut at {settings.max_length} tokens"
        )
    dimensions = min(encoder.dimension, options.dimensions or encoder.dimension)
    run.close(
        f"{job.rows:,} rows, {job.distinct:,} texts encoded, {dimensions} dimensions{compression.told()}{skipped}"
    )


def _encoder(options: EmbedOptions) -> tuple[Any, Settings]:
    """Load the model, or a file of word vectors, onto its device, and settle how texts become vectors."""
    from pathlib import Path

    from dialtools.embed.shard import Settings
    from dialtools.encoder.device import choose_device, choose_precision, default_batch_tokens
    from dialtools.encoder.encoder import Encoder
    from dialtools.encoder.word_vectors import WordVectors

    device = choose_device(options.device)
    encoder: Any
    if Path(options.model).is_file():
        encoder = WordVectors.load(options.model)
    else:
        encoder = Encoder.load(
            options.model,
            pooling=options.pooling,
            max_length=options.max_length,
            trust_remote_code=options.trust_remote_code,
        ).to(device)
    normalize = encoder.normalize if options.normalize is None else options.normalize
    return encoder, Settings(
        max_length=encoder.max_length,
        normalize=normalize,
        batch_tokens=options.batch_tokens or default_batch_tokens(device),
        precision=choose_precision(options.precision, device),
        float16_round=options.float16_round,
    )


def _metadata(job: Job, run: Run) -> dict[str, str]:
    from dialtools.streams.provenance import as_metadata

    return as_metadata(run.provenance() | job.space)


def _stream(job: Job, records: Any, kind: str, transform: Transform, finish: Any, run: Run) -> None:
    from dialtools.embed.sink import sink

    with sink("-", kind=kind, overwrite=False, metadata=_metadata(job, run)) as write:
        for shard in job.shards(records):
            write(finish(job.batch(shard)))


def _shards(job: Job, records: Any, kind: str, transform: Transform, finish: Any, run: Run) -> None:
    from pathlib import Path

    from dialtools.embed.job import Shards
    from dialtools.embed.sink import sink

    options, about = job.options, run.provenance()
    work = {
        **about["options"],
        "precision": job.settings.precision,
        "inputs": about["inputs"],
        **job.space,
    }
    shards = Shards(Path(options.output), work, resume=options.resume, overwrite=options.overwrite)
    count = 0
    with run.graceful():
        for count, shard in enumerate(job.shards(records), 1):
            job.settle(shard)
            if shards.has(count):
                part = shards.read(count)
                job.count(part, len(shard))
            else:
                before = (job.cut, job.distinct)
                batch = job.batch(shard)
                shards.write(
                    count, batch, cut=job.cut - before[0], distinct=job.distinct - before[1]
                )
            if run.stop_requested:
                run.warn(f"stopped after {count:,} shard{'s' * (count != 1)}; --resume goes on")
                run.interrupted()
    if transform.waits:
        transform.fit(shards.read(number) for number in range(1, count + 1))
    with sink(
        options.output, kind=kind, overwrite=options.overwrite, metadata=_metadata(job, run)
    ) as write:
        for number in range(1, count + 1):
            write(finish(shards.read(number)))
    shards.remove()

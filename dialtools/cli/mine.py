"""dialtools mine - find hard negatives of pairs

  dial-embed --model minilm --field context,response pairs.arrow -o v.parquet
  dialtools mine --embeddings v.parquet pairs.arrow -o mined.arrow
  dialtools mine --embeddings v.parquet --num-negatives 1 \\
    --sampling-strategy random --range-max 50 pairs.arrow | dial-train
  dialtools mine --embeddings texts.parquet --relative-margin 0.1 pairs.jsonl

Each pair comes out with `negatives`, in place of any that it had: the
responses of other pairs that are nearest to its context (cosine) among those
that may be negatives. None is a response that this context has anywhere in
the input; texts are one when they are equal but for case and blanks. And none
scores more than the pair's own response, less a margin: what a good model
finds better than the truth is often true (positive-aware mining, Moreira et
al. 2024). Every contrastive method of dial-train reads them.

Vectors are found by text: contexts and responses as dial-embed --field
context,response has them beside their vectors (--keep context,response is
enough), or single texts beside `embedding`, for contexts of one turn. Where a
text has several vectors, its first counts.

The search compares every context with every distinct response, in blocks:
exact, and as slow as that is (300,000 pairs with 100,000 responses of 256
dimensions: some 15 TFLOP, three minutes of two cores).
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.mine.options import MineOptions


@command(
    MineOptions,
    memory="300 MiB, 100 bytes a pair and the texts of distinct responses; "
    "vectors and pairs lie on disk ($TMPDIR) meanwhile",
)
def main(options: MineOptions, run: Run) -> None:
    from dialtools.mine.job import Mining
    from dialtools.streams.formats import FORMATS
    from dialtools.streams.payloads import passed_on_format
    from dialtools.streams.provenance import as_metadata
    from dialtools.streams.sinks import output_format, writer

    if options.output != "-":
        output_format(options.output, options.to)
    with run.policy() as policy:
        mining = Mining(options, policy)
        mining.read()
    kind = passed_on_format(options.output, options.to, columnar=mining.pairs.spool.columnar)
    with run.progress(len(mining.pairs), "pairs") as progress:
        mining.search(progress.advance)
    lines = FORMATS[kind].lines
    metadata = {} if lines else as_metadata(run.provenance(mining.counts()))
    with writer(
        options.output, format=kind, overwrite=options.overwrite, metadata=metadata
    ) as write:
        for payload in mining.payloads(lines=lines):
            write(payload)
    run.close(mining.closing_line())

"""dialtools mine - find hard negatives of pairs

  dial-embed --model minilm --field context,response pairs.arrow -o v.parquet
  dialtools mine --embeddings v.parquet pairs.arrow -o mined.arrow
  dialtools mine --embeddings v.parquet --num-negatives 1 \\
    --sampling-strategy random --range-max 50 pairs.arrow | dial-train
  dialtools mine --embeddings texts.parquet --relative-margin 0.1 pairs.jsonl

Writes each pair with `negatives`: the responses of other pairs that are
nearest to its context (cosine). They replace any negatives that a pair had.
Every contrastive method of dial-train reads them.

Two kinds of responses are never taken:
  - any that this context has anywhere in the input. Case and blanks do not
    make texts different.
  - any that scores higher than the pair's own response, less a margin. What
    a good model prefers to the truth is often true as well (positive-aware
    mining, Moreira et al. 2024).

Where vectors come from:

Vectors are looked up by text. Use contexts and responses with their vectors,
as dial-embed --field context,response writes them (--keep context,response is
enough), or single texts beside `embedding`, for contexts of one turn. If a
text has several vectors, the first counts; a response takes one of responses,
and a context another, if there is one.

Time:

The search is exact: it compares every context with every distinct response,
in blocks. 300,000 pairs with 100,000 responses of 256 dimensions take some 15
TFLOP, three minutes on two cores.
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.mine.options import MineOptions


@command(
    MineOptions,
    memory="300 MiB, 100 bytes per pair and the texts of distinct responses; "
    "vectors and pairs are kept on disk ($TMPDIR) meanwhile",
)
def main(options: MineOptions, run: Run) -> None:
    from dialtools.mine.job import Mining
    from dialtools.streams.formats import FORMATS
    from dialtools.streams.payloads import passed_on_format
    from dialtools.streams.sinks import output_format

    if options.output != "-":
        output_format(options.output, options.to)
    with run.policy() as policy:
        mining = Mining(options, policy)
        mining.read()
    kind = passed_on_format(options.output, options.to, columnar=mining.pairs.spool.columnar)
    with run.progress(len(mining.pairs), "pairs") as progress:
        mining.search(progress.advance)
    run.write(mining.payloads(lines=FORMATS[kind].lines), kind, mining.counts())
    run.close(mining.closing_line())

"""dialtools cut - keep the first layers of a model alone

  dialtools cut --layers 3 --model minilm -o minilm-3/
  dial-embed --model minilm-3/ --transform to-response pairs.arrow -o v.parquet

Writes a model of the first layers of --model, which embeds in as much less
time. Nothing is trained and no weights change. What follows the last layer (a
norm, a pooler) is kept. Prints the path of the new model.

The first layers know words and phrases, the last ones what a text means. So a
model that was cut finds fewer texts that mean the same, while dial-embed
--transform to-response finds more of its responses (docs/which-method.md has
figures). It is a start for training, too.

Other steps and tools:

Cut first; then weigh, train and centre. Weights of tokens are kept, a centre
and heads beside a model are left out. The poolings of two layers take the
last of those that are left. A static encoder is refused, and so is a model
whose layers share their weights (ALBERT).
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.embed.derived_options import CutOptions


@command(CutOptions, memory="the model", reads_stdin=False)
def main(options: CutOptions, run: Run) -> None:
    from dialtools.encoder.guest import start_torch
    from dialtools.streams.atomic import atomic_directory

    start_torch(None)
    from dialtools.embed.cut import load_cut, write_cut
    from dialtools.embed.derived import left_behind

    encoder = load_cut(options)
    provenance = run.provenance() | {"inputs": []}  # it reads no records
    with atomic_directory(options.output, overwrite=options.overwrite) as folder:
        write_cut(folder, encoder, options, provenance)
    for line in left_behind(options.model):
        run.warn(line)
    run.tell_path(options.output)
    run.close(f"{options.output}: {encoder.shape}")

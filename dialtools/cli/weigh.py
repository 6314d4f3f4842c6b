"""dialtools weigh - let rare tokens count more in a model's vectors, as a log has them

  dial-pairs --kind utterance chats.jsonl -o utterances.jsonl
  dialtools weigh --model minilm utterances.jsonl -o weighed/
  dial-train --model weighed/ --method dse -o dse/ pairs.arrow

A model that averages its tokens lets "the", "[CLS]" and "?" count as much as
the word that a text is about. The model that is written averages with weights
a / (a + p), where p is a token's share of all tokens of the log and a is
--half-at (smooth inverse frequency). No weight of its layers changes, no label
is needed, nothing is embedded: it takes seconds. A static encoder has such
weights in its vectors already, and is refused. Encoders that were cut short
or little trained gain most; those that are sentence encoders already gain a
little (docs/which-method.md has figures). Training goes on with the weights.

A log of many subjects tells best what is common: in one of weather alone
"weather" counts little. Texts come in as dial-embed takes them, each as often
as it occurs. sentence-transformers embeds alike: the weights are its module
WordWeights, before Pooling. Weights that the model has are replaced, and a
centre that it has is left out: weigh first, then train, center last. The path
is printed to stdout.
"""

from __future__ import annotations

from pathlib import Path

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.embed.log_options import WeighOptions
from dialtools.streams.tally import counted


@command(WeighOptions, memory="the model, and 65,536 texts")
def main(options: WeighOptions, run: Run) -> None:
    from dialtools.encoder.guest import start_torch
    from dialtools.streams.atomic import atomic_directory

    start_torch(None)
    from dialtools.embed.weigh import lightest, load_weighable, token_counts, write_weighed

    encoder = load_weighable(options)
    with run.policy() as policy, run.progress(None, "texts") as progress:
        counts_V, texts = token_counts(encoder, options, policy, progress.advance)
    provenance = run.provenance({"texts": texts, "tokens": int(counts_V.sum())})
    with atomic_directory(Path(options.output), overwrite=options.overwrite) as folder:
        write_weighed(folder, encoder, options, counts_V, texts, provenance)
    print(options.output)
    tokens = f"{counted(int(counts_V.sum()), 'token')}, {(counts_V > 0).sum():,} distinct"
    told = f"{options.output}: {counted(texts, 'text')} of {tokens}"
    run.close(f"{told}; least weigh {lightest(encoder)}")

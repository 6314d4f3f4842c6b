"""dialtools weigh - let rare tokens count more in a model's vectors

  dial-pairs --kind utterance chats.jsonl -o utterances.jsonl
  dialtools weigh --model minilm utterances.jsonl -o weighted/
  dial-train --model weighted/ --method dse -o dse/ pairs.arrow

A model that averages its tokens lets "the", "[CLS]" and "?" count as much as
the word that a text is about. Writes a model that averages with weights
a / (a + p) instead, where p is a token's share of all tokens of the log and a
is --half-at (smooth inverse frequency).

The weights of its layers stay the same, no labels are needed, and nothing is
embedded: it takes seconds. Encoders that were cut short or little trained
gain most. Those that are sentence encoders already gain a little
(docs/which-method.md has figures).

Texts are read as dial-embed reads them. Each counts as often as it occurs. A
log of many subjects shows best what is common: in a log about weather alone,
"weather" would count little. Prints the path of the new model.

Other steps and tools:

Weigh first, then train, and centre last. Training keeps the weights. Weights
that the model already has are replaced, and a centre is left out. A static
encoder is refused, since its vectors already contain such weights.

sentence-transformers embeds the same way: the weights are its module
WordWeights, before Pooling.
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.embed.derived_options import WeighOptions
from dialtools.streams.tally import counted


@command(WeighOptions, memory="the model, and 65,536 texts")
def main(options: WeighOptions, run: Run) -> None:
    from dialtools.encoder.guest import start_torch
    from dialtools.streams.atomic import atomic_directory

    start_torch(None)
    from dialtools.embed.derived import left_behind
    from dialtools.embed.weigh import lightest, load_weighable, token_counts, write_weighed

    encoder = load_weighable(options)
    with run.policy() as policy, run.progress(None, "texts") as progress:
        counts_V, texts = token_counts(encoder, options, policy, progress.advance)
    provenance = run.provenance({"texts": texts, "tokens": int(counts_V.sum())})
    with atomic_directory(options.output, overwrite=options.overwrite) as folder:
        write_weighed(folder, encoder, options, counts_V, texts, provenance)
    for line in left_behind(options.model):
        run.warn(line)
    run.tell_path(options.output)
    tokens = f"{counted(int(counts_V.sum()), 'token')}, {(counts_V > 0).sum():,} distinct"
    told = f"{options.output}: {counted(texts, 'text')} of {tokens}"
    run.close(f"{told}; least weigh {lightest(encoder)}")

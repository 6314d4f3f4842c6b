"""dialtools center - take the mean of a log's vectors off a model's vectors

  dial-pairs --kind utterance chats.jsonl -o utterances.jsonl
  dialtools center --model minilm utterances.jsonl -o centred/
  dialtools center --model dse/ --sample 0.1 tickets.jsonl -o centred/

The vectors of a log share a direction, which says nothing of a single text
and lifts the cosine of any two. The model that is written embeds as --model
does, takes the mean of the log's vectors off, and scales what is left to
length 1. No weight changes, no label is needed, some thousand texts are
enough, and it takes as long as to embed them. What a threshold on the cosine
decides gains most: what is out of scope (docs/which-method.md has figures).

Texts come in as dial-embed takes them; each counts as often as it occurs.
sentence-transformers embeds alike: the centre is a module, Dense, behind
Normalize. model2vec passes over it. Vectors have length 1 unless
--no-normalize says otherwise. A centre that the model has is replaced;
dial-train leaves it out, and dialtools merge wants models without: it comes
last. Heads that some recipes keep beside a model are left out. The path is
printed to stdout.
"""

from __future__ import annotations

from pathlib import Path

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.embed.log_options import CenterOptions
from dialtools.streams.tally import counted


@command(CenterOptions, memory="the model twice, and 65,536 texts with their vectors")
def main(options: CenterOptions, run: Run) -> None:
    from dialtools.embed.model import load_model, notes
    from dialtools.encoder.guest import start_torch
    from dialtools.streams.atomic import atomic_directory
    from dialtools.streams.provenance import Inputs

    start_torch(options.threads)
    from dialtools.embed.center import mean_vector, write_centred
    from dialtools.encoder.folder import model_folder

    made_of = Inputs([str(model_folder(options.model))])
    model = load_model(options.embedding())
    for note in notes(model, options.embedding()):
        run.warn(note)
    with run.policy() as policy, run.progress(None, "texts") as progress:
        center_D, texts = mean_vector(model, options, policy, progress.advance)
    provenance = run.provenance({"texts": texts})
    with atomic_directory(Path(options.output), overwrite=options.overwrite) as folder:
        write_centred(folder, options, center_D, texts, provenance, made_of=made_of)
    print(options.output)
    length = (center_D @ center_D) ** 0.5
    run.close(f"{options.output}: {counted(texts, 'text')}, whose mean had length {length:.2f}")

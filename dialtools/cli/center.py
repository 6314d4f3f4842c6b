"""dialtools center - subtract the mean of a log's vectors from a model's vectors

  dial-pairs --kind utterance chats.jsonl -o utterances.jsonl
  dialtools center --model minilm utterances.jsonl -o centred/
  dialtools center --model dse/ --sample 0.1 tickets.jsonl -o centred/

The vectors of a log share a direction. It says nothing about a single text
and raises the cosine of any two. Writes a model that embeds as --model does,
subtracts the mean of the log's vectors and scales the result to length 1.

No weights change, and no labels are needed. A few thousand texts are enough,
and it takes as long as to embed them. Decisions by a cosine threshold gain
most, such as out-of-scope detection (docs/which-method.md has figures).

Texts are read as dial-embed reads them. Each counts as often as it occurs.
Prints the path of the new model.

Other steps and tools:

Make this the last step: dial-train leaves a centre out, and dialtools merge
accepts only models without one. A centre that the model already has is
replaced. Heads that some recipes keep beside a model are left out.

sentence-transformers embeds the same way: the centre is a Dense module behind
Normalize. model2vec ignores it. dial-embed writes vectors of length 1 unless
you pass --no-normalize.
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.embed.derived_options import CenterOptions
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
    with atomic_directory(options.output, overwrite=options.overwrite) as folder:
        write_centred(folder, options, center_D, texts, provenance, made_of=made_of)
    run.tell_path(options.output)
    length = (center_D @ center_D) ** 0.5
    run.close(f"{options.output}: {counted(texts, 'text')}, whose mean had length {length:.2f}")

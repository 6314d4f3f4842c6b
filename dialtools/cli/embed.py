"""dial-embed - embed text with a model, in batches, resumable

  dial-embed --model model/ tickets.jsonl -o tickets.parquet
  dial-embed --model model/ --field context,response pairs.jsonl -o p.parquet
  dial-embed --model model/ --resume chats.jsonl.zst -o chats.parquet
  dial-embed --model model/ --per turn chats.jsonl -o turns.parquet
  dial-embed --model model/ --whiten --save-transform whiten.safetensors \\
    tickets.jsonl -o white.parquet
  dial-embed --model glove.txt tickets.jsonl -o glove.parquet
  dial-embed --model model/ --compress 0.2 --templates augmented.jsonl \\
    tickets.jsonl -o compressed.parquet
  dial-embed --model model/ --dry-run tickets.jsonl -o tickets.parquet
  cat lines.txt | dial-embed --model model/ --from text --to jsonl | head

Records come in as JSONL, Parquet or Arrow, or text one a line; fields that
are not embedded travel along. A list of turns is joined as in training and
keeps its newest tokens; --field history+response joins two fields so. --per
turn makes a row of each turn of a dialogue: its own fields (speaker, acts,
...) beside the vector of the history that ends with it. --transform changes
finished vectors, by what is fitted to them all or, with --fit-on, to other
embeddings of the same model. A model may be a text file of word vectors: a
text is their average. --templates adds to each text's vector that of the
nearest template (cosine), or mixes the two: lambda t + (1 - lambda) u, of
unit vectors.

FILE appears when all is done; until then finished shards lie in
FILE.partial/, and --resume repeats none of them: the result has the bytes of
an unbroken run. Of a finished FILE of the same inputs and options --resume
says so, and does nothing; JSONL and npy tell theirs in FILE.job.json.
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.embed.options import EmbedOptions
from dialtools.streams.tally import counted


@command(EmbedOptions, memory="the model, and one shard of rows (--shard-rows) with its vectors")
def main(options: EmbedOptions, run: Run) -> None:
    from dialtools.cli._torch import start_torch

    start_torch(options.threads)  # before anything imports torch
    from dialtools.embed.model import load_model
    from dialtools.embed.run import Embedding, embedding_format
    from dialtools.streams.atomic import refuse_existing
    from dialtools.streams.resume import claim

    embedding_format(options)  # before a model is loaded in vain
    if options.output != "-" and not options.resume:
        refuse_existing(options.output, overwrite=options.overwrite)
    model = load_model(options)
    with run.policy() as policy, run.progress(None, "texts") as progress:
        embedding = Embedding(options, model, policy, progress.advance)
        lines: dict[str, str] = {}
        if options.dry_run:
            lines = embedding.plan()
        elif options.output == "-":
            embedding.stream(run.provenance())
        else:
            job = embedding.job(run.name, run.inputs)
            flags = {"resume": options.resume, "overwrite": options.overwrite}
            with claim(options.output, job, **flags) as work:
                if work.finished:
                    return run.close(work.finished)
                with run.graceful():
                    for count in embedding.shards(work):
                        if run.stop_requested:
                            run.warn(f"stopped after {counted(count, 'shard')}; --resume goes on")
                            run.interrupted()
                embedding.write(work)
    if options.dry_run:
        return run.tell_plan(lines)
    if note := embedding.embedder.truncation_note():
        run.warn(note)
    run.close(*embedding.closing_notes())

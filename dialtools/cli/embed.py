"""dial-embed - embed text with a model, in batches, resumable

  dial-embed --model model/ tickets.jsonl -o tickets.parquet
  dial-embed --model model/ --field context,response pairs.jsonl -o p.parquet
  dial-embed --model model/ --resume chats.jsonl.zst -o chats.parquet
  dial-embed --model model/ --per turn chats.jsonl -o turns.parquet
  dial-embed --model model/ --whiten --save-transform whiten.safetensors \\
    tickets.jsonl -o white.parquet
  dial-embed --model model/ --transform to-response \\
    --save-transform to-response.safetensors pairs.arrow -o pairs.parquet
  dial-embed --model glove.txt tickets.jsonl -o glove.parquet
  dial-embed --model model/ --compress 0.2 --templates augmented.jsonl \\
    tickets.jsonl -o compressed.parquet
  dial-embed --model model/ --dry-run tickets.jsonl -o tickets.parquet
  cat lines.txt | dial-embed --model model/ --from text --to jsonl | head

Reads records (JSONL, Parquet, Arrow), tables (CSV; --field names the column),
or plain text, one text a line. Fields that are not embedded are kept. A list
of turns is joined as in training. If it is too long, its newest tokens are
kept; of a single turn, as of a text, the first. A text of blanks alone is
embedded as a full stop.

Writes FILE when all is done. Until then finished shards are in FILE.partial/,
and --resume repeats none of them: the result is byte for byte that of an
unbroken run. If FILE is finished already, from the same inputs and options,
--resume says so and does nothing: Parquet and Arrow tell theirs in their
metadata, other formats in FILE.job.json beside them. docs/vectors.md shows
how to use the file in DuckDB, Polars, NumPy, FAISS and others.

What is embedded:

--field history+response joins two fields into one text; --field
context,response embeds each by itself. --per turn makes a row for each turn
of a dialogue: its own fields (speaker, acts, ...), and the vector of the
history that ends with it. An input without a record is an error.

Models:

--model names a model directory, or a text file of word vectors, of which a
text is the average. For those, words are what blanks and punctuation part:
Chinese, Japanese or Thai has to come with blanks between its words.

Changed vectors:

--transform changes finished vectors. It is fitted to all of them or, with
--fit-on, to other embeddings of the same model. --templates adds the vector
of the nearest template (by cosine) to that of each text, or mixes the two:
lambda t + (1 - lambda) u, of unit vectors.

--transform to-response is for finding responses. Fitted to the vectors of a
few thousand pairs, it moves contexts to where their responses lie. Responses
stay as they are, and nothing is trained. A tenth of the pairs is held out to
choose how far contexts move; the closing line tells what that gained. Fit it
to pairs of your own log (docs/which-method.md has figures).
"""

from __future__ import annotations

import gc
from contextlib import closing
from typing import TYPE_CHECKING

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.embed.options import EmbedOptions
from dialtools.streams.tally import counted

if TYPE_CHECKING:
    from dialtools.embed.run import Embedding
    from dialtools.streams.job import Job

SELDOM = 5_000_000
"""More objects than a shard has: looking for cycles in records, which have none, takes a third of
the time of reading them."""


@command(
    EmbedOptions,
    memory="the model, a shard of rows (--shard-rows) with its vectors, and the vectors of another "
    "(on a GPU its rows, too)",
    plans=True,
)
def main(options: EmbedOptions, run: Run) -> None:
    from dialtools.embed.model import load_model, notes
    from dialtools.embed.run import Embedding, embedding_format
    from dialtools.streams.formats import FORMATS

    gc.set_threshold(SELDOM)
    kind = FORMATS[embedding_format(options)]  # before a model is loaded in vain
    matrix = "`dialtools gather` makes a matrix, of parts in Arrow" if kind.vectors else ""
    options.check_part_output(options.output, lines=kind.lines, table=matrix, instead="arrow")
    model = load_model(options)
    for note in notes(model, options):
        run.warn(note)
    plan: dict[str, str] = {}
    with run.policy() as policy, run.progress(None, "texts") as progress:
        embedding = Embedding(options, model, policy, progress.advance)
        job = embedding.job(run.name, run.inputs, run.part_facts())
        if options.dry_run:
            plan = embedding.plan()
        elif options.output == "-":
            embedding.stream(job.provenance())
        elif finished := _write_file(embedding, job, run):
            return run.close(finished)

    if plan:
        return run.tell_plan(plan)
    for note in embedding.embedder.notes():
        run.warn(note)
    run.close(*embedding.closing_notes())


def _write_file(embedding: Embedding, job: Job, run: Run) -> str:
    """Embed into --output; return what tells that an earlier run has done so, or nothing.

    After Ctrl-C or SIGTERM it finishes a shard, and ends with the signal's status.
    """
    with run.claim(job) as work:
        if work.finished:
            embedding.expect_transform()
            return work.finished
        with run.graceful("shard"), closing(embedding.shards(work)) as shards:
            for count in shards:
                if run.stop_requested:
                    run.warn(f"stopped after {counted(count, 'shard')}; --resume goes on")
                    run.interrupted()
        embedding.write(work)
    return ""


if __name__ == "__main__":
    main()

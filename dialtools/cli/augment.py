"""dial-augment - entity book, templates, and utterances made by filling them

  dial-augment labelled.jsonl > augmented.jsonl
  dial-augment --top-k 3 --save-book book.json \\
    labelled.jsonl -o augmented.jsonl
  dial-augment --save-templates t.jsonl labelled.jsonl -o augmented.jsonl
  dial-augment --ner rules --book book.json texts.jsonl > augmented.jsonl
  dial-augment --no-fill --typed labelled.jsonl | head
  dial-augment --from iob snips/ -o snips.parquet

Reads utterances {"text", "slots": [{"start", "end", "label"}], "label",
"split"}, or dialogues whose turns have slots. MASSIVE's `annot_utt` works
too.

The entity book holds the values of each slot, learnt from the training split.
A template is an utterance with {SLOT} in place of each value. Templates are
filled with every combination of the --top-k most frequent values of their
slots, or with a seeded sample of --max-per-template of them. A slot whose type
has no value in the book keeps its own.

Writes each record with its "template", followed by the records made from it,
with {"synthetic": true, "source_id", "seed"} and slots at their new places.
docs/augmented.md has some to read.

Which texts are made:

A template is filled once for each label it has. A made text that equals
another record, apart from case and blanks, is dropped. Where slots overlap,
the longest wins, then the first. A made value takes the case of the place
it fills, and an English a or an before it agrees. In a dialogue a value is
replaced by the same other value in all turns, wherever it stands as a word;
an inflected form of it (Helsinki, Helsingin) is another word. A dialogue in
which that is ambiguous is not filled.
"""

from __future__ import annotations

from contextlib import nullcontext

from dialtools.augment.options import AugmentOptions
from dialtools.cli._command import command
from dialtools.cli._run import Run


@command(
    AugmentOptions,
    memory="some 100 bytes a distinct utterance and template, and the book; --save-templates holds "
    "the templates; the records wait on disk ($TMPDIR)",
    multiplies=False,
)
def main(options: AugmentOptions, run: Run) -> None:
    from dialtools.augment.job import Augment
    from dialtools.streams.formats import FORMATS
    from dialtools.streams.parts import telling_beside
    from dialtools.streams.provenance import as_metadata
    from dialtools.streams.sinks import output_format, write_records

    kind = output_format(options.output, options.to)
    lines = FORMATS[kind].lines
    columns = "a table of records has its columns from all of them"
    options.check_part_output(options.output, lines=lines, table=columns)
    run.cut_inputs()
    with (
        run.policy() as policy,
        run.progress(None, "utterances") as progress,
        telling_beside(options.output, run.provenance) if options.shard else nullcontext(),
    ):
        job = Augment(options, policy, progress.advance)
        metadata = {} if lines else as_metadata(run.provenance())
        write_records(
            job.run(), options.output, to=options.to, overwrite=options.overwrite, metadata=metadata
        )
    if options.save_book:
        job.book.save(options.save_book, overwrite=options.overwrite)
    if options.save_templates:
        write_records(job.template_records(), options.save_templates, overwrite=options.overwrite)
    if options.report:
        write_records(job.book.report(), options.report, overwrite=options.overwrite)
    for note in job.notes():
        run.warn(note)
    run.close(job.line())


if __name__ == "__main__":
    main()

"""dial-pairs - turn dialogues into positive pairs

  dial-pairs chats.jsonl > pairs.jsonl
  dial-pairs --window 1,2,3 chats.jsonl.zst | dial-train
  dial-pairs --min-words 4 --split train=0.98,dev=0.02 -o 'pairs.{split}.jsonl' chats.jsonl
  dial-pairs --dry-run --min-words 4 --split train=0.98,dev=0.02 -o 'pairs.{split}.jsonl' chats.jsonl
  dial-pairs --kind self --to arrow chats.jsonl -o utterances.arrow
  dial-pairs --kind entailment --from snli snli_1.0/ -o entailment.jsonl
  dial-pairs --dialogue-column ticket --text-column message --order-column sent log.csv
  dial-pairs --unsorted --dialogue-column chat --speaker-column author --order-column sent --session-gap 30m export.parquet
  dial-pairs --speaker-map agent=system,customer=user --drop-speaker note --kind dialogue --speaker-column from log.csv > chats.jsonl

A dialogue is a record {"id", "turns": [{"text", "speaker"}, ...]}; `dialogue` or `messages`, `utterance` or
`content`, `role` and plain strings read as the same thing, and a `history` of turns with its `response` is one too.
Plain text has one utterance a line and a blank line between dialogues. Published corpora are read as they come, a folder,
an archive or a file: `dialtools formats` lists them. --kind self and --kind utterance also read utterances ({"text"}),
--kind entailment two texts with a label.

A table has one turn a row: CSV and TSV always, JSONL, Parquet and Arrow when a flag names a column. Rows of a dialogue
stand together, or --unsorted gathers them. Within it they are sorted by --order-column, by value, time or text. Times
are ISO 8601 (UTC if no zone is given) or seconds, milliseconds, ... since 1970; in which order a spreadsheet writes day
and month, --time-format must say. Excel's ; and tabs, `sep=` line and UTF-16 are recognised; Windows' own code page
needs --encoding cp1252. A row without text is no turn.

A list `messages` with an assistant, or with a system at its start only, is a chat with a language model: the assistant
is the speaker `system`, its instructions (system, developer), tools and messages without text are left out and told at
the end, and texts in parts are joined. A role that --speaker-map names (system=prompt) is a speaker like any other.

Words, for --min-words, are what stands between blanks; where a script has none (Chinese, Japanese, Thai, ...), characters.

Out come pairs: {"context": [turns, oldest first], "response", "window", "kind", "dialogue_id", "turn", "speakers"}.
With --kind dialogue or utterance come the dialogues, or their turns, with all their other fields: what the sister commands read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.pairs.options import PairOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from dialtools.streams.tally import Tally


@command(
    PairOptions,
    memory="streams: a few MiB of dialogues a process; --dedupe and --kind self 16 bytes a distinct pair; --unsorted half a GiB, and the disk",
)
def main(options: PairOptions, run: Run) -> None:
    from collections import Counter
    from contextlib import ExitStack

    from dialtools.corpora.read import dialogue_chunks, record_chunks
    from dialtools.pairs.job import mine
    from dialtools.pairs.options import RECORDS
    from dialtools.streams.policy import Policy
    from dialtools.streams.sinks import output_format
    from dialtools.streams.tally import Tally

    kind, tally, counts = output_format(options.output, options.to), Tally(), Counter[str]()
    files = {
        name: options.output.replace("{split}", name)
        for name in [part.split("=")[0] for part in options.split] or [""]
    }
    with (
        Policy(options.on_error, dry=options.dry_run) as policy,
        ExitStack() as stack,
        run.progress(None, "pairs") as progress,
    ):
        write = _writers(files, options, kind, run, stack)
        prompt = kind == "jsonl" and options.output == "-"
        if options.kind == "entailment":
            chunks = record_chunks(options.inputs, format=options.from_, policy=policy, column=None)
        else:
            chunks = dialogue_chunks(
                options.inputs,
                format=options.from_,
                logs=options,
                policy=policy,
                tally=tally,
                prompt=prompt,
                keep=options.kind in RECORDS,
            )
        for part, payload in mine(
            chunks, options, lines=kind == "jsonl", policy=policy, tally=tally
        ):
            write[part](payload)
            new = tally.kept - counts.total()
            counts[part] += new
            progress.advance(new)
    run.skipped = policy.skipped
    closing = _closing(options, tally) + (
        f"; {policy.skipped:,} bad records skipped" if policy.skipped else ""
    )
    if options.dry_run:
        sizes = (
            f"{'stdout' if path == '-' else path}: {counts[part]:,}" for part, path in files.items()
        )
        return run.tell_plan({"finds": closing, "writes": ", ".join(sizes) + f" as {kind}"})
    run.close(closing)


def _writers(
    files: dict[str, str], options: PairOptions, kind: str, run: Run, stack: ExitStack
) -> dict[str, Callable[[Any], object]]:
    """Return what writes each part of the output, to `files` by part; in a dry run nothing, where a run would write."""
    from dialtools.pairs.options import RECORDS
    from dialtools.streams.atomic import refuse_existing
    from dialtools.streams.lines_table import table_of_lines
    from dialtools.streams.provenance import as_metadata
    from dialtools.streams.sinks import writer

    if options.dry_run:
        for path in files.values():
            if path != "-":
                refuse_existing(path, overwrite=options.overwrite)
        return dict.fromkeys(files, lambda payload: None)
    opened = table_of_lines if options.kind in RECORDS and kind != "jsonl" else writer
    metadata = as_metadata(run.provenance()) if kind != "jsonl" else {}
    return {
        name: stack.enter_context(
            opened(path, format=kind, overwrite=options.overwrite, metadata=metadata)
        )
        for name, path in files.items()
    }


def _closing(options: PairOptions, tally: Tally) -> str:
    """Return what came of how many dialogues, and under -v the speakers that --speaker-map does not name."""
    unit = {"dialogue": "dialogues", "utterance": "utterances"}.get(options.kind, "pairs")
    text = tally.line(unit)
    if unit != "dialogues":
        of = "records" if options.kind in ("utterance", "self", "entailment") else "dialogues"
        text = text.replace(f" {unit}", f" {unit} from {getattr(tally, 'dialogues', 0):,} {of}", 1)
    if options.verbose and tally.unmapped:
        text += f"; speakers not in --speaker-map: {', '.join(f'{n:,} turns of {name}' for name, n in tally.unmapped.most_common(5))}"
        text += ", ..." if len(tally.unmapped) > 5 else ""
    return text

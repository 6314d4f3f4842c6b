"""dial-pairs - turn dialogues into positive pairs

  dial-pairs chats.jsonl > pairs.jsonl
  dial-pairs --window 1,2,3 chats.jsonl.zst | dial-train
  dial-pairs --split train=0.98,dev=0.02 -o 'pairs.{split}.jsonl' chats.jsonl
  dial-pairs --dry-run --split dev=0.02 -o '{split}.jsonl' chats.jsonl
  dial-pairs --kind self --to arrow chats.jsonl -o utterances.arrow
  dial-pairs --kind texts --texts title,body faq.csv -o pairs.arrow
  dial-pairs --kind entailment --from snli snli_1.0/ -o entailment.jsonl
  dial-pairs --summary --min-words 4 chats.jsonl
  dial-pairs --dialogue-column ticket --text-column message log.csv
  dial-pairs --unsorted --dialogue-column chat --order-column sent log.parquet
  dial-pairs --order-column sent --session-gap 30m log.csv
  dial-pairs --speaker-column from --speaker-map kim=user,agent=system log.csv
  dial-pairs --kind dialogue --speaker-column from --drop-speaker note log.csv

A dialogue is a record {"id", "turns": [{"text", "speaker"}, ...]}. The names
`dialogue` or `messages`, `utterance` or `content`, and `role` read as the
same thing, and so do turns that are plain strings. A `history` of turns with
its `response` is a dialogue, too. Plain text has one utterance a line and a
blank line between dialogues. Published corpora are read as they come, a
folder, an archive or a file: `dialtools formats` lists them. --kind self and
--kind utterance also read utterances ({"text"}). --kind texts reads a question
and its answer, or two other texts that belong together, a record or a row;
--kind entailment two texts with a label. Two texts, and responses with their
history, are written by --kind utterance as they are. --kind triple reads three
texts (anchor, positive, negative; SimCSE's sent0, sent1, hard_neg), or brings
together the entailments and contradictions of a premise.

Exports of chats are read as they come, too: of ChatGPT, Slack, Discord,
Telegram, WhatsApp, IRC, Zendesk, Intercom, Rasa and LangSmith. A chat is a
dialogue; in Slack a thread, or a channel's day without its threads; in IRC a
day. Of Rasa's YAML --from rasa-nlu reads the examples of intents, and --from
rasa-stories the stories that have texts, with the responses of a domain in
the same folder. In tickets who asks is `user` and agents are `system`; in
chats of people each speaker has a name, which --speaker-map makes a role.
Joins, other notices, messages of bots, notes of a team and media without text
are no turns, and are told at the end. --session-gap cuts chats at pauses.

A table has one turn a row: CSV and TSV always, JSONL, Parquet and Arrow when
a flag names a column. Rows of a dialogue stand together, or --unsorted
gathers them. Within it they are sorted by --order-column: by value, time or
text. Times are ISO 8601 (UTC if no zone is given), or seconds (milliseconds,
and so on) since 1970; in which order a spreadsheet writes day and month,
--time-format must say. Excel's ; and tabs, its `sep=` line and UTF-16 are
recognised; Windows' own code page needs --encoding cp1252.

Records stand one a line, or in a JSON array, which is read as it comes, or in
Parquet and Arrow; a folder of such parts (of DuckDB, Spark, `datasets`) is
one table.

A list `messages`, `conversations` or `conversation` with an assistant, or with
a system at its start only, is a chat with a language model: roles as OpenAI,
LangChain (`type`: human, ai) and ShareGPT (`from`: human, gpt) have them. The
assistant is the speaker `system`. Instructions (system, developer) and tools
are left out and told at the end; texts in parts are joined. A role that
--speaker-map names (system=prompt) is a speaker like any other.

A turn without text is no turn, wherever it comes from: those before and after
it follow each other, and the last line tells how many there were.

Words, for --min-words, are what stands between blanks; where a script has
none (Chinese, Japanese, Thai, ...), characters.

Out come pairs: {"context": [turns, oldest first], "response", "window",
"kind", "dialogue_id", "turn", "speakers"}. With --kind dialogue or utterance
come the dialogues, or their turns, with all their other fields: what the
sister commands read.
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.pairs.options import PairOptions


@command(
    PairOptions,
    memory="streams: a few MiB of dialogues a process; "
    "--dedupe and --kind self 16 bytes a distinct pair; --unsorted half a GiB, and the disk",
    plans=True,
)
def main(options: PairOptions, run: Run) -> None:
    if options.summary:
        from dialtools.cli._of_inputs import report_inputs

        return run.tell_plan({}) if run.dry else report_inputs(options, run)
    from dialtools.pairs.job import input_chunks, mine
    from dialtools.pairs.options import KINDS, OF_ALL_RECORDS, RECORDS
    from dialtools.pairs.output import Outputs, closing_line
    from dialtools.streams.formats import FORMATS
    from dialtools.streams.sinks import output_format
    from dialtools.streams.tally import Tally

    kind, tally = output_format(options.output, options.to), Tally()
    lines = FORMATS[kind].lines
    table = OF_ALL_RECORDS if options.kind in RECORDS else ""
    options.check_part_output(options.output, lines=lines, table=table)
    run.cut_inputs()
    with (
        run.policy() as policy,
        run.progress(None, f"{KINDS[options.kind].unit}s") as progress,
        Outputs(options, kind, run.provenance) as outputs,
    ):
        chunks = input_chunks(options, policy, tally, prompt=lines and options.output == "-")
        for piece in mine(chunks, options, lines=lines, policy=policy, tally=tally):
            outputs.write(piece)
            progress.advance(piece.rows)

    closing = closing_line(options, tally)
    if options.dry_run:
        run.tell_plan({"finds": closing, "writes": outputs.plan()})
    else:
        run.close(closing)

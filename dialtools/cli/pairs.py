"""dial-pairs - turn dialogues into positive pairs

  dial-pairs chats.jsonl > pairs.jsonl
  dial-pairs --window 1,2,3 chats.jsonl.zst | dial-train
  dial-pairs --dialogue-column ticket --text-column message log.csv
  dial-pairs --unsorted --dialogue-column chat --order-column sent log.parquet
  dial-pairs --order-column sent --session-gap 30m log.csv
  dial-pairs --speaker-column from --speaker-map kim=user,agent=system log.csv
  dial-pairs --split train=0.98,dev=0.02 -o 'pairs.{split}.jsonl' chats.jsonl
  dial-pairs --summary --min-words 4 chats.jsonl
  dial-pairs --kind self --to arrow chats.jsonl -o utterances.arrow
  dial-pairs --kind texts --texts title,body faq.csv -o pairs.arrow
  dial-pairs --kind same-label --texts message,intent few.csv -o alike.jsonl
  dial-pairs --kind entailment --from snli snli_1.0/ -o entailment.jsonl

Reads dialogues, one a line: {"id", "turns": [{"text", "speaker"}, ...]}. The
names `dialogue` or `messages`, `utterance`, `content`, `message` or `body`, and
`role` or `from` mean the same, and a turn may be a plain string. Plain text has
one utterance a line and a blank line between dialogues. Tables with one turn a
row, published corpora (a folder, an archive or a file) and chat exports are
read as they come: see below, and `dialtools formats`.

Writes pairs: {"context": [turns, oldest first], "response", "window", "kind",
"dialogue_id", "turn", "speakers"}. --kind dialogue or utterance writes the
dialogues, or their turns, with all their fields: the other commands read
both.

Kinds:

  consecutive   a context and its response
  self          each distinct utterance with itself: dropout makes its two
                vectors differ (SimCSE), or masks hide words (mlm)
  random-split  a turn of the system, drawn by --seed, and all that came
                before it (TOD-BERT)
  same-answer   two utterances of different dialogues that got the same
                answer, apart from numbers and names: words with a capital
                inside a sentence, so every noun of German is one
  same-label    two texts that have the same label, such as an intent; the
                label is the `dialogue_id`, and --split keeps its texts
                together
  texts         the two texts of a record, such as a question and its answer
  entailment    premise and hypothesis of records with that label
  nli           the pairs of entailment, and those of contradictions as well,
                with `similar` 1 or 0 (PairSupCon)
  triple        what a text entails, with what contradicts it as a negative
                (SimCSE)
  dialogue      no pairs: the dialogues, as records
  utterance     no pairs: their turns, as records

--kind self and --kind utterance also read utterances ({"text"}). same-label
reads texts with a label; texts reads one pair a record or row; entailment and
nli read two texts with a label. triple takes the first entailment of a
premise with its first contradiction, the second with the second, and so on;
it also reads three texts (anchor, positive, negative; SimCSE's sent0, sent1,
hard_neg). A record of `history` and `response` counts as a dialogue. --kind
utterance writes records of two texts, and of a history and a response,
unchanged.

Tables:

A table has one turn a row: CSV and TSV always, JSONL, Parquet and Arrow if
a flag names a column. The rows of a dialogue must follow each other, from
the end of a file into the next, too, unless --unsorted gathers those of a
file. --order-column sorts them within the dialogue, by number, time or text;
records have it as `time`. A `domain` that all rows of a dialogue name is the
dialogue's. Times are ISO 8601 (UTC if no zone is given), or seconds (or
milliseconds, and so on) since 1970; for a spreadsheet's dates, say with
--time-format whether day or month comes first. Semicolons, tabs, bars (|), a
`sep=` line and UTF-16, as Excel writes them, are recognised; the Windows code
page needs --encoding cp1252.

JSON and Parquet:

Records stand one a line, or in a JSON array (which is streamed), or in
Parquet or Arrow. A folder of such parts, as DuckDB, Spark and `datasets`
write it, is read as one table; folders of it that are called NAME=VALUE
(`split=train/`) are columns of Parquet and Arrow. An archive of your own
files (.zip, .tar.gz) is unpacked into a temporary folder, and read like that
folder. Turns may be an object of lists, one for each field, as `datasets` has
them. The list may also be called dialog, conversation, conversations, chat,
thread, transcript, utterances or contents, and a speaker may be a number
(--speaker-map 0=user,1=system).

Chats with a language model:

A list `messages`, `conversations`, `conversation`, `chat` or `thread` that
has an assistant, or a system message only at its start, is a chat with a
language model, in the style of OpenAI, LangChain (`type`: human, ai),
ShareGPT (`from`: human, gpt), Vercel's AI SDK or Gemini (`parts`). The
assistant becomes the speaker `system`. Instructions (system, developer) and
tool messages are left out, and counted at the end; texts in parts are joined,
without what a model thinks (parts of reasoning, <think>). To keep such a
role, give it a name with --speaker-map (system=prompt).

Chat exports:

Exports of ChatGPT, Claude, Slack, Teams, Discord, Telegram, WhatsApp,
Messenger, Instagram, IRC, Zendesk, Freshdesk, Intercom, Amazon Connect and
Rasa, logs of calls of language models (LangSmith, Langfuse, gateways), and
transcripts of meetings (Gong, WebVTT, SubRip, text with a line of name and
time above each turn) are read as they come. A chat is a dialogue; in Slack
and Teams that is a thread, or in Slack a day of a channel without its
threads; in IRC a day; of calls of models a session, whose longest call has
what was said before. In tickets and contacts the customer is `user` and
agents are `system`; in chats of people speakers keep their names, which
--speaker-map turns into roles. Notices, bots, internal notes and media
without text are left out, and counted at the end. --session-gap cuts a chat
at its pauses. Plain text whose lines begin with who speaks needs
--speaker-prefix.
From Rasa's YAML, --from rasa-nlu reads the examples of intents, and --from
rasa-stories the stories that have texts, with responses from a domain file
in the same folder.

Turns and words:

A turn without text is dropped, and its neighbours then follow each other. A
pair whose response repeats its only turn of context is dropped, too. The last
line of output tells how many there were. An id or a speaker that is only
blanks counts as missing.
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.pairs.options import PairOptions


@command(
    PairOptions,
    memory="streams: a few MiB of dialogues a process; "
    "--distinct and --kind self 16 bytes a distinct pair; --unsorted, --kind same-answer and "
    "same-label half a GiB, and the disk",
    plans=True,
    multiplies=False,
)
def main(options: PairOptions, run: Run) -> None:
    if options.summary:
        from dialtools.cli._of_inputs import report_inputs

        return run.tell_plan({}) if run.dry else report_inputs(options, run)
    from dialtools.pairs.job import input_chunks, mine
    from dialtools.pairs.options import KINDS, OF_ALL_RECORDS, RECORDS
    from dialtools.pairs.output import Outputs, closing_line, warnings
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

    for warning in filter(None, (*warnings(options, tally), outputs.empty_line())):
        run.warn(warning)
    closing = closing_line(options, tally)
    if options.dry_run:
        run.tell_plan({"finds": closing, "writes": outputs.plan()})
    else:
        run.close(closing)


if __name__ == "__main__":
    main()

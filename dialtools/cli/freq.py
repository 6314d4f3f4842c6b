"""dial-freq - count utterances, tell how uneven they are, weigh pairs by it

  dial-freq chats.jsonl > counts.jsonl
  dial-freq --top 10 --field response pairs.jsonl
  dial-freq --summary --plot curve.svg chats.jsonl.zst tickets.jsonl
  dial-pairs --window 1,2 chats.jsonl | dial-freq --annotate > weighted.jsonl
  dial-freq --annotate --counts counts.jsonl pairs.arrow -o weighted.arrow
  dial-freq --merge counts.jsonl counts.jsonl -o merged.parquet

Counts the turns of dialogues, the responses of pairs, the texts of
utterances, the lines of plain text, or any field of any records. --ignore
says which texts count as one: by default case and blanks are ignored and
punctuation is not, as in WMDC. A response counts once for each (dialogue_id,
turn) of an input, however many windows it is in.

Writes frequency records {"text", "count", "share", "rank", "weight"}, the
most frequent first, equal counts by text. --annotate writes the input
instead, in its order, each record with its "weight" 1/(ln f + 1), by which
WMDC in dial-train multiplies the loss of a pair; of Parquet and Arrow it
writes Arrow, unless -o or --to says otherwise.
"""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.freq.options import FreqOptions


@command(
    FreqOptions,
    memory="bounded by --memory: counts beyond it spill to disk, "
    "as does the input under --annotate",
    multiplies=False,
)
def main(options: FreqOptions, run: Run) -> None:
    from dialtools.cli._imbalance import report_imbalance
    from dialtools.corpora.logs import markup_line
    from dialtools.freq.job import Freq
    from dialtools.freq.output import check_outputs, write_annotated, write_frequencies

    check_outputs(options)
    run.cut_inputs()
    with run.policy() as policy, run.progress(None, "texts") as progress:
        freq = Freq(options, policy, progress.advance)
        if options.annotate:
            write_annotated(freq, run.provenance)
        elif options.summary:
            report_imbalance(freq, run)
        else:
            write_frequencies(freq, run.provenance)
    if told := markup_line(freq.tally):
        run.warn(told)
    run.close(freq.closing_line())


if __name__ == "__main__":
    main()

"""dial-eval compare - compare the scores of models, with intervals and tests

  dial-eval compare after.jsonl
  dial-eval compare before.jsonl after.jsonl
  dial-eval compare --metric accuracy --fail-if-worse 1 \\
    before.jsonl after.jsonl
  dial-eval compare 'dse=seeds/dse-1.jsonl,seeds/dse-2.jsonl' minilm.jsonl
  dial-eval compare --baseline minilm 'seeds/wmdc-*.jsonl' minilm.jsonl
  dial-eval compare --test bootstrap before.jsonl after.jsonl -o table.tex

Tells which differences between models would be there again with other test
items. Reads score records as the tasks and suites write them with -o, and
compares each score with the baseline's of the same task, data set, setting
and metric, item by item. The baseline is the first file, or --baseline; of a
single file the scores are shown, with their intervals. Files of one model
over several tasks are one side together; where two of them share a score,
NAME=FILE,FILE says which are seeds.
Several seeds of a model count by their mean, with the standard deviation
beside it. For FPR, uniformity, alignment, average-cosine and inter-cosine
lower is better.

Test items are resampled, and the runs of scores that are means over several:
other few-shot examples would give other scores. Runs that are equally many are
paired. Thresholds stay as they are.

What is compared:

Data sets are matched by their test items, whatever their files are called,
and by name where the items are not recorded (--name, else that of the
file). Scores with other test items or options of the task, or without kept
results, are named and not tested. If no score can be compared, the command
ends in an error.

Intervals and tests:

Intervals and p-values are from a paired bootstrap of the test items, and of
the runs. Scores of one run that are means over items have another p-value:
that of a paired permutation test, which swaps the two models at random on
each item. All are corrected for the number of tests in the table. Turns of
one dialogue (--group), and queries that share a block of candidates, stay
together.

Where the test items of `retrieve` are candidates of each other, MAP counts
an item as a query and as a candidate. For MRR and same-of-N only the
queries are resampled, and the candidates stay.

--fail-if-worse looks at the difference alone, not at its p-value. A score
of the baseline that a model lacks, or has of other test items or with other
options, fails as well; --metric and --setting choose those that count.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.metrics import CORRECTIONS
from dialtools.options import RunOptions, argument, option, output_option
from dialtools.streams.options import TableOutputOptions
from dialtools.values import at_least, name_list, not_negative


@dataclass
class CompareOptions(TableOutputOptions, RunOptions):
    """Options of `dial-eval compare`."""

    inputs: tuple[str, ...] = argument(
        help=(
            "score files, the baseline first; a folder, a glob or NAME=FILE,FILE is one "
            "model with several seeds (default: stdin)"
        ),
        metavar="SCORES",
    )
    baseline: str | None = option(
        None, metavar="FILE|NAME", help="model to compare the others with", shown="the first"
    )
    names: tuple[str, ...] = output_option(
        (),
        metavar="A,B,...",
        parse=name_list,
        help="names of the columns",
        shown="those of the files",
    )
    metric: tuple[str, ...] = option(
        (),
        metavar="NAMES",
        parse=name_list,
        help="compare only these metrics, e.g. accuracy,micro-f1",
        shown="all",
    )
    setting: tuple[str, ...] = option(
        (),
        metavar="NAMES",
        parse=name_list,
        help="compare only these settings, e.g. 5-shot",
        shown="all",
    )
    test: str = option(
        "permutation",
        choices=("permutation", "bootstrap"),
        help=(
            "test of scores of one run that are means over test items: random swaps of the "
            "two models, or the bootstrap; other scores are always bootstrapped"
        ),
    )
    correct: str = option(
        "holm",
        choices=CORRECTIONS,
        help=(
            "correction for many tests: Holm (no false finding), Benjamini-Hochberg (few among "
            "the findings)"
        ),
    )
    resamples: int = option(
        10_000, parse=at_least(100), help="number of resamples of the test items, and of swaps"
    )
    fail_if_worse: float | None = output_option(
        None,
        metavar="POINTS",
        parse=not_negative,
        help="exit 4 if a score is worse than the baseline's by more than this, or is missing",
        how=True,
    )

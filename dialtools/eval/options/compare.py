"""dial-eval compare - which differences between models would be there again

  dial-eval compare before.jsonl after.jsonl
  dial-eval compare --metric accuracy --fail-if-worse 1 \\
    before.jsonl after.jsonl
  dial-eval compare 'dse=seeds/dse-1.jsonl,seeds/dse-2.jsonl' minilm.jsonl
  dial-eval compare --baseline minilm 'seeds/wmdc-*.jsonl' minilm.jsonl
  dial-eval compare --test bootstrap before.jsonl after.jsonl -o table.tex

Which differences would be there again with other test items? Reads score
records as the tasks and suites write them with -o; scores of the same task,
data set, setting and metric are compared with the baseline's, item by item. A
data set is the baseline's that has the same items, whatever its file is
called; where items do not tell, the one of its name (--name, else that of its
file). Turns of one dialogue (--group), and queries that share a block of
candidates, stay together. Intervals are of a paired bootstrap of the test
items. p-values are of a paired permutation test (the two models are swapped at
random on each item) for scores that are means over items, and of the bootstrap
for F1, correlations and areas; they are corrected for all tests of the table.
Of several seeds the mean counts, with its standard deviation beside. What the
test items say is of these items: few-shot examples and thresholds stay as they
were drawn. For FPR, uniformity and alignment lower is better.

What has other test items, or kept none, is named and not tested; where no
score can be compared, it ends in an error. --fail-if-worse looks at the
difference alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.metrics import CORRECTIONS
from dialtools.options import RunOptions, argument, option
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
        None, metavar="FILE|NAME", help="what the others are compared with", shown="the first"
    )
    names: tuple[str, ...] = option(
        (),
        metavar="A,B,...",
        parse=name_list,
        group="Output",
        help="names of the columns",
        shown="those of the files",
    )
    metric: tuple[str, ...] = option(
        (),
        metavar="NAMES",
        parse=name_list,
        help="compare these metrics alone, e.g. accuracy,micro-f1",
        shown="all",
    )
    test: str = option(
        "permutation",
        choices=("permutation", "bootstrap"),
        help=(
            "of scores that are means over test items: random swaps of the two models; "
            "other scores are always bootstrapped"
        ),
    )
    correct: str = option(
        "holm",
        choices=CORRECTIONS,
        help=(
            "for many tests at once: Holm (no false finding), Benjamini-Hochberg (few "
            "among the findings)"
        ),
    )
    resamples: int = option(
        10_000, metavar="N", parse=at_least(100), help="resamples of the test items, and swaps"
    )
    fail_if_worse: float | None = option(
        None,
        metavar="POINTS",
        parse=not_negative,
        group="Output",
        help="exit 4 if a score is worse than the baseline's by more than this",
        how=True,
    )

"""Options of dial-freq."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import e

from dialtools.corpora.options import CorpusOptions
from dialtools.errors import ConfigError
from dialtools.freq.normalise import AS_WMDC, STEPS
from dialtools.freq.weights import WEIGHTS
from dialtools.options import RunOptions, option, restated, run_option
from dialtools.streams.options import OF_ALL_PARTS, OutputOptions, ShardOptions, memory_option
from dialtools.values import at_least, logarithm_base, not_negative, picture, subset_of

_weights = partial(option, group="Weights")


@dataclass
class FreqOptions(CorpusOptions, OutputOptions, ShardOptions, RunOptions):
    """What is counted, and what is made of the counts."""

    field: str | None = option(
        None,
        metavar="NAME",
        help="count the texts of this field",
        shown="the response of a pair, the turns of a dialogue, the text of an utterance",
        not_with="merge",
    )
    ignore: tuple[str, ...] = option(
        AS_WMDC,
        metavar="NAMES|none",
        choices=STEPS,
        parse=subset_of(STEPS),
        help="differences between texts that do not count: case, punct (punctuation), "
        "digits (a number becomes 0), form (a letter and its accent in one character or two), "
        "space (runs of blanks, and those at the ends)",
        not_with="merge",
    )
    unit: str = option(
        "turn",
        choices=("turn", "record"),
        help="turn: count a response once, however many windows it is in (same dialogue_id and "
        "turn); record: count every record",
        not_with="merge counts",
    )
    top: int | None = option(None, parse=at_least(1), help="only the N most frequent texts")
    rank: bool = option(
        True,
        help="sort by frequency and number the ranks; --no-rank: any order, faster, for shards "
        "that --merge adds up",
        not_with="summary annotate",
    )
    merge: bool = option(
        False, help="read frequency records, for example of shards, and add up their counts"
    )
    summary: bool = option(
        False,
        help="instead, tell how uneven each input is, and all together: share of the top 1 %, "
        "distinct / total, Gini, entropy, Zipf slope",
    )
    plot: str | None = option(
        None,
        metavar="FILE",
        parse=picture,
        help="draw the share that the most frequent texts hold (.png, .svg, .pdf), one curve "
        "an input; implies --summary",
        how=True,
    )
    json: bool = option(
        False,
        help="write --summary as JSONL even on a terminal",
        how=True,
        goes_with="summary",
        not_with="to",
    )
    limit: int | None = restated(CorpusOptions, "limit", not_with="summary")
    annotate: bool = _weights(
        False, help="instead, write the input, each record with its weight", not_with="merge"
    )
    counts: str | None = _weights(
        None,
        metavar="FILE",
        shown="counted over the input itself",
        help="frequency records to weigh by; a text not in them has frequency 1",
        goes_with="annotate",
    )
    weights: str = _weights(
        "irf",
        choices=WEIGHTS,
        help="weight of frequency f: irf 1/(log f + 1) (WMDC), inverse 1/f, sqrt 1/sqrt f, none 1",
        not_with="summary",
    )
    log_base: float = _weights(
        e,
        metavar="B",
        parse=logarithm_base,
        shown="e",
        help="base of the logarithm of irf",
        goes_with=("weights", ("irf",)),
        not_with="summary",
    )
    smooth: float = _weights(
        0.0,
        parse=not_negative,
        help="add X to every frequency before weighing",
        goes_with=("weights", ("irf", "inverse", "sqrt")),
        not_with="summary",
    )
    weights_mean_one: bool = _weights(
        False, help="scale the weights to a mean of 1 over all that was counted", not_with="summary"
    )
    memory: int = memory_option(help="memory to use; beyond it counts spill to disk ($TMPDIR)")
    jobs: int | None = run_option(
        None,
        short="-j",
        parse=at_least(1),
        shown="all cores",
        help="threads that count, as far as --memory has room; the output does not depend on it",
    )

    def __post_init__(self) -> None:
        self.summary = self.summary or self.plot is not None
        if self.top and not self.rank:
            raise ConfigError("--top needs the rank that --no-rank leaves out")
        chosen = [f"--{name}" for name in ("annotate", "summary", "top") if getattr(self, name)]
        if len(chosen) > 1:
            raise ConfigError(f"{' and '.join(chosen)} are runs of their own")
        of_the_whole = {
            "--summary is of all that is counted, of which no part knows": self.summary,
            "--annotate weighs by all counts, so give them: --counts FILE": (
                self.annotate and not self.counts
            ),
            OF_ALL_PARTS: self.annotate and self.limit is not None,
        }
        self.check_part(self.inputs, of_the_whole)

"""dial-eval curve - scores over the steps of training

  dial-eval curve --intent tickets.jsonl run/
  dial-eval curve --intent tickets.jsonl --select pairs.jsonl \\
    --plot curve.svg -o curve.jsonl run/
  dial-eval curve --oos tickets.jsonl --plot oos.svg \\
    --metric "1-shot auroc,5-shot auroc" run/
  dial-eval curve --intent tickets.jsonl --shots 5 \\
    --metric "5-shot accuracy" --plot curve.png run/ other/

Scores the snapshots of training runs. A run is a model directory with
snapshots (dial-train --snapshot-every), or the MODEL.partial of a training
that is still running. A model without snapshots is one point.

Each snapshot embeds the records it needs and is scored as `dial-eval intent`,
`oos` and `select` score embedding files. Of the few-shot training rows, only
those that some run draws are embedded. The picture has a line for each run
and each --metric, with its interval.

With -o FILE each finished point is kept in FILE.partial, and --resume scores
only the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.encoder.options import PieceOptions
from dialtools.errors import ConfigError, proposed
from dialtools.eval.options.base import ScoreOptions
from dialtools.options import RunOptions, argument, option, output_option, restated
from dialtools.streams.options import TAKEN_UP, ResumeOptions
from dialtools.values import at_least, composed, int_list, name_list, number_of_runs, picture

LABELLED = "intent oos"
"""Options that name labelled records."""
SELECT_METRICS = ("top-1", "top-3", "top-5", "top-10", "mrr")
SCOPE_METRICS = ("mean-std average", "mean average", "auroc", "aupr")
"""Of telling what is out of scope, those that a curve has: the means of DSE's four, and areas."""


@dataclass
class CurveOptions(PieceOptions, RunOptions):
    """Options of `dial-eval curve`."""

    inputs: tuple[str, ...] = argument(
        metavar="RUN", shown="RUN...", help="model directories, best with snapshots"
    )
    intent: str | None = option(
        None, metavar="FILE", help="labelled records with a split: few-shot intents by prototypes"
    )
    oos: str | None = option(
        None, metavar="FILE", help="labelled records with a split, some of them out of scope"
    )
    select: str | None = option(
        None, metavar="FILE", help="pairs: find the response among those of consecutive rows"
    )
    shots: tuple[int, ...] = option(
        (1, 5),
        metavar="N[,N...]",
        parse=int_list,
        help="intent, oos: examples per class",
        goes_with=LABELLED,
    )
    runs: int = option(
        10,
        parse=number_of_runs,
        help="intent, oos: number of runs; each draws new examples (seeds seed, seed+1, ...)",
        goes_with=LABELLED,
    )
    without: str | None = option(
        None,
        metavar="LABEL",
        parse=composed,
        help="intent: leave out rows with this label, e.g. oos",
        goes_with="intent",
    )
    oos_label: str = option(
        "oos",
        metavar="LABEL",
        parse=composed,
        help="oos: label of out-of-scope rows",
        goes_with="oos",
    )
    label: str = option(
        "label", metavar="NAME", help="intent, oos: field of the labels", goes_with=LABELLED
    )
    split: str = option(
        "split",
        metavar="NAME",
        help="intent, oos: field that separates training records from test records",
        goes_with=LABELLED,
    )
    test_split: str = option(
        "test",
        metavar="NAME",
        help="intent, oos: value of the split field for test records",
        goes_with=LABELLED,
    )
    candidates: int = option(
        100, parse=at_least(2), help="select: candidates per query", goes_with="select"
    )
    max_length: int | None = option(
        None, parse=at_least(4), help="maximum tokens per text", shown="the model's"
    )
    plot: str | None = output_option(
        None,
        metavar="FILE",
        parse=picture,
        help="draw the curves (.png, .svg, .pdf)",
        how=True,
    )
    metric: tuple[str, ...] = output_option(
        (),
        metavar="NAMES",
        parse=name_list,
        help="scores to draw, e.g. '1-shot accuracy,5-shot accuracy' or top-1",
        shown="the first",
        how=True,
        goes_with="plot",
    )
    output: str = restated(ScoreOptions, "output")
    json: bool = restated(ScoreOptions, "json")
    overwrite: bool = restated(ScoreOptions, "overwrite", help="replace existing outputs")
    resume: bool = restated(ResumeOptions, "resume", help=f"{TAKEN_UP}; no point is scored again")

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if not self.inputs:
            raise ConfigError("name a run", hint="a model directory of dial-train --snapshot-every")
        if not (self.intent or self.oos or self.select):
            hint = "--intent FILE, --oos FILE, --select FILE, or several"
            raise ConfigError("nothing to score", hint=hint)
        known = self.metrics
        for name in self.metric:
            if name not in known:
                hint = proposed(name, known)
                raise ConfigError(f"--metric: no {name!r}", hint=hint)

    @property
    def metrics(self) -> list[str]:
        """The names of the scores, in order."""
        of_shots = [
            *(["accuracy"] if self.intent else ()),
            *(SCOPE_METRICS if self.oos else ()),
        ]
        few = [f"{shots}-shot {name}" for name in of_shots for shots in self.shots]
        return [*few, *(SELECT_METRICS if self.select else ())]

"""Options of what works on many scores: suite, compare, mteb."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.eval.options.base import ScoreOptions
from dialtools.options import RunOptions, argument, option
from dialtools.values import at_least, dataset_task, name_list, not_negative

TABLE_FORMATS = ("table", "jsonl", "markdown", "latex", "csv")


@dataclass
class SuiteOptions(ScoreOptions):
    """Options of `dial-eval suite`."""

    inputs: tuple[str, ...] = argument(
        help="a suite, then a folder of embedding files for each model", metavar="SUITE DIR"
    )
    task: tuple[str, ...] = option(
        (), metavar="NAMES", parse=name_list, help="only these tasks of the suite", shown="all"
    )
    published: bool = option(False, help="show the paper's numbers beside")
    to: str | None = option(
        None,
        metavar="FORMAT",
        choices=TABLE_FORMATS,
        group="Output",
        help="format of the output",
        shown="by suffix (.md, .tex, .csv); a table on a terminal, else jsonl",
    )

    def __post_init__(self) -> None:
        if len(self.inputs) < 2 and not self.print_config:
            raise ConfigError(
                "name a suite and a folder for each model",
                hint="e.g. dial-eval suite diaeval before/ after/",
            )


@dataclass
class CompareOptions(RunOptions):
    """Options of `dial-eval compare`."""

    inputs: tuple[str, ...] = argument(
        help="score files, the baseline first; a folder, a glob or NAME=FILE,FILE is one model with several seeds",
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
        help="of scores that are means over test items: random swaps of the two models; other scores are always bootstrapped",
    )
    correct: str = option(
        "holm",
        choices=("holm", "bh", "none"),
        help="for many tests at once: Holm (no false finding), Benjamini-Hochberg (few among the findings)",
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
    output: str = option(
        "-",
        short="-o",
        metavar="FILE",
        group="Output",
        help="file to write; - is stdout",
        how=True,
    )
    to: str | None = option(
        None,
        metavar="FORMAT",
        choices=TABLE_FORMATS,
        group="Output",
        help="format of the output",
        shown="by suffix (.md, .tex, .csv); a table on a terminal, else jsonl",
    )
    overwrite: bool = option(False, group="Output", help="replace an output that exists", how=True)

    def __post_init__(self) -> None:
        if not self.inputs and not self.print_config:
            raise ConfigError(
                "name score files, the baseline first",
                hint="e.g. dial-eval compare before.jsonl after.jsonl",
            )


@dataclass
class MtebOptions(RunOptions):
    """Options of `dial-eval mteb`."""

    inputs: tuple[str, ...] = argument(help="score files of one model", metavar="SCORES")
    output: str = option(
        "",
        short="-o",
        metavar="DIR",
        group="Output",
        help="folder for the result files",
        how=True,
    )
    task: tuple[str, ...] = option(
        (),
        metavar="DATASET=TASK",
        parse=dataset_task,
        multiple=True,
        help="which task of MTEB a data set is; may be given again",
        shown="by the data set's name",
    )
    model_name: str | None = option(
        None, metavar="NAME", help="name of the model, as organisation/name", shown="as recorded"
    )
    model_revision: str = option("no_revision_available", metavar="NAME", help="its revision")
    overwrite: bool = option(
        False, group="Output", help="replace result files that exist", how=True
    )

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if not self.inputs:
            raise ConfigError(
                "name score files", hint="e.g. dial-eval mteb scores.jsonl -o results/"
            )
        if self.output in ("", "-"):
            raise ConfigError("-o DIR is needed: a file for each task goes there")

"""Options that tasks share: where scores go, which rows are read."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from dialtools.errors import ConfigError
from dialtools.options import (
    RunOptions,
    Spec,
    argument,
    input_option,
    output_option,
    restated,
    settings,
    specs,
)
from dialtools.streams.formats import last_suffix
from dialtools.streams.options import OutputOptions, RowLimitOptions, column
from dialtools.values import metric_bound


def page_of(options: type) -> str:
    """Return the help page of an options class: the docstring of its module."""
    return sys.modules[options.__module__].__doc__ or ""


OF_TABLES = (".csv", ".tsv", ".md", ".tex", ".html", ".parquet", ".arrow", ".feather")


def score_file(text: str) -> str:
    """Check the name of a file of scores: JSON lines, whose single results fit no table."""
    if last_suffix(text) in OF_TABLES:
        raise ValueError("scores are JSON lines; dial-eval compare -o FILE.csv makes a table")
    return text


SOURCES = ("train", "test", "validation", "pool", "episodes")
"""Options of tasks that name a file beside the inputs."""
OF_ROWS = ("Input", "Output", "Run")
"""Groups of options that say which rows are scored, and where scores go."""
OF_LEARNING = ("runs", "episodes", "episode_set", "synthetic", "template_references", "max_rows")
"""Options that say which examples or rows are learnt from: to compare that may be the question."""
IN_SETTINGS = ("shots", "k", "sweep_compress")
"""Options that several scores of one run differ in."""


def protocol(options: RunOptions) -> dict[str, Any]:
    """Return the options of a task that are not its usual ones, and make its scores others."""
    usual = {spec.key: spec.default for spec in specs(options.__class__) if _is_of_scoring(spec)}
    return {
        key: value for key, value in settings(options).items() if value != usual.get(key, value)
    }


def _is_of_scoring(spec: Spec) -> bool:
    return spec.group not in OF_ROWS and spec.name not in (*OF_LEARNING, *IN_SETTINGS)


@dataclass
class ScoreOptions(RunOptions):
    """Where scores go, and how low they may be."""

    output: str = restated(
        OutputOptions, "output", parse=score_file, help="file for the scores; - is stdout"
    )
    json: bool = output_option(
        False,
        help="write the scores as JSONL",
        shown="when stdout is not a terminal",
        how=True,
    )
    each: bool | None = output_option(
        True, help="keep the results of single test items, for dial-eval compare"
    )
    overwrite: bool = restated(OutputOptions, "overwrite")
    fail_under: tuple[str, ...] = output_option(
        (),
        metavar="METRIC=VALUE",
        parse=metric_bound,
        multiple=True,
        help=(
            "exit 4 if a score is lower, of one setting with '5-shot accuracy=80'; "
            "may be given again"
        ),
        how=True,
    )


@dataclass
class ReportOptions(ScoreOptions):
    """How scores of one data set are told."""

    name: str | None = output_option(
        None,
        metavar="NAME",
        help="name of the data set in the report",
        shown="the file's",
    )

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the arguments; none beside --train, which names its own."""
        return () if getattr(self, "train", None) else super().files

    @property
    def points(self) -> int | None:
        """How many pieces its task comes in, as it counts them; None: files must be read first."""
        return None


@dataclass
class SplitOptions(RowLimitOptions, ReportOptions):
    """Rows to learn from and rows to be tested on: two files, or one with a split column."""

    inputs: tuple[str, ...] = argument(
        help="one embedding file with a split column (default: stdin), or --train and --test"
    )
    train: str | None = input_option(
        None, metavar="FILE", help="embeddings to learn from; - is stdin"
    )
    test: str | None = input_option(None, metavar="FILE", help="embeddings to test on; - is stdin")
    split: str = column(
        "split", help="column that separates training rows from test rows", not_with="train"
    )
    train_split: str = column(
        "train", help="value of the split column for training rows", not_with="train"
    )
    test_split: str = column(
        "test", help="value of the split column for test rows", not_with="train"
    )

    def __post_init__(self) -> None:
        files = (self.train, self.test)
        if any(files) and (self.inputs or not all(files)):
            raise ConfigError("name --train FILE and --test FILE, or one file with a split column")


@dataclass
class ThreePartOptions(SplitOptions):
    """And rows to choose on: a third file, or a third value of the split column."""

    validation: str | None = input_option(
        None,
        metavar="FILE",
        help="embeddings to choose hyper-parameters on, other than those tested",
    )
    validation_split: str | None = column(
        None,
        help="value of the split column for validation rows; none: there are no such rows",
        shown="validation, validate, valid, val or dev",
        not_with="train",
    )


@dataclass
class FileOptions(RowLimitOptions, ReportOptions):
    """What scores embedding files by themselves, without rows to learn from."""

    inputs: tuple[str, ...] = argument(help="embedding files (default: stdin)")


@dataclass
class PartOptions(FileOptions):
    """Rows of one or several parts, each scored apart."""

    split: str = column(
        "split", help="column that names the parts, if there is one; none: all rows are one part"
    )
    part: str | None = column(None, help="score only this part", not_with=("split", ("none",)))

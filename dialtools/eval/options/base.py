"""Options that tasks share: where scores go, which rows are read."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.options import RunOptions, argument, option
from dialtools.values import metric_bound


def page_of(options: type) -> str:
    """Return the help page of an options class: the docstring of its module."""
    return sys.modules[options.__module__].__doc__ or ""


TABLE_FORMATS = ("table", "jsonl", "markdown", "latex", "csv")


@dataclass
class ScoreOptions(RunOptions):
    """Where scores go, and how low they may be."""

    output: str = option(
        "-",
        short="-o",
        metavar="FILE",
        group="Output",
        help="file for the scores; - is stdout",
        how=True,
    )
    json: bool = option(
        False,
        group="Output",
        help="scores as JSONL",
        shown="when stdout is no terminal",
        how=True,
    )
    each: bool = option(
        True, group="Output", help="keep what every test item adds, for dial-eval compare"
    )
    overwrite: bool = option(False, group="Output", help="replace an output that exists", how=True)
    fail_under: tuple[str, ...] = option(
        (),
        metavar="METRIC=VALUE",
        parse=metric_bound,
        multiple=True,
        group="Output",
        help="exit 4 if a score is lower; may be given again",
        how=True,
    )


@dataclass
class ReportOptions(ScoreOptions):
    """How scores of one data set are told."""

    name: str | None = option(
        None,
        metavar="NAME",
        group="Output",
        help="data set's name in the report",
        shown="the file's",
    )


@dataclass
class SplitOptions(ReportOptions):
    """Rows to learn from and rows to be tested on: two files, or one with a split column."""

    inputs: tuple[str, ...] = argument(
        help="one embedding file with a split column, instead of --train and --test"
    )
    train: str | None = option(None, metavar="FILE", group="Input", help="embeddings to learn from")
    test: str | None = option(
        None, metavar="FILE", group="Input", help="embeddings to be tested on"
    )
    split: str = option(
        "split", metavar="NAME", group="Input", help="column that tells train from test"
    )
    train_split: str = option(
        "train", metavar="NAME", group="Input", help="its value for training rows"
    )
    test_split: str = option("test", metavar="NAME", group="Input", help="its value for test rows")

    def __post_init__(self) -> None:
        files = (self.train, self.test)
        if bool(self.inputs) == any(files) or any(files) != all(files):
            raise ConfigError("name --train FILE and --test FILE, or one file with a split column")


@dataclass
class ThreePartOptions(SplitOptions):
    """And rows to choose on: a third file, or a third value of the split column."""

    validation: str | None = option(
        None, metavar="FILE", group="Input", help="embeddings to choose on"
    )
    validation_split: str | None = option(
        None,
        metavar="NAME",
        group="Input",
        help="value of the split column for validation rows; none: there are no such rows",
        shown="validation, validate, valid, val or dev",
    )


@dataclass
class FileOptions(ReportOptions):
    """What scores embedding files by themselves, without rows to learn from."""

    inputs: tuple[str, ...] = argument(help="embedding files")

    def __post_init__(self) -> None:
        if not self.inputs and not self.print_config:
            raise ConfigError("name an embedding file", hint="dial-embed makes one")


@dataclass
class PartOptions(FileOptions):
    """Rows of one or several parts, each scored apart."""

    split: str = option(
        "split", metavar="NAME", group="Input", help="column of the parts, if there is one"
    )
    part: str | None = option(None, metavar="NAME", group="Input", help="score this part alone")

"""Options of `dialtools assign`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dialtools.errors import ConfigError
from dialtools.options import RunOptions, argument, option, output_option, restated
from dialtools.streams.options import InputOptions, OutputOptions, VectorsOptions
from dialtools.values import at_least, composed, cosine, fraction, name_list

RECALL = 0.95

_classes = partial(option, group="Classes")
_threshold = partial(option, group="Thresholds")
_router = partial(option, group="Router")


@dataclass
class AssignOptions(OutputOptions, RunOptions):
    """Which classes there are, how near a row must be, and what is told."""

    inputs: tuple[str, ...] = argument(help="embedding files to assign; none or - is stdin")
    examples: str | None = _classes(
        None, metavar="FILE", help="embeddings of some rows of each class"
    )
    label: str = _classes("label", metavar="NAME", help="column of the labels", not_with="router")
    nearest: int | None = _classes(
        None,
        parse=at_least(1),
        help="score a class by its N nearest examples (mean cosine)",
        shown="by its prototype: the mean of its examples",
        not_with="router",
    )
    unlabelled: str | None = _classes(
        None,
        metavar="FILE",
        help="embeddings of a log without labels; its rows move the prototypes of classes that "
        "have few examples",
        goes_with="examples",
        not_with="nearest",
    )
    none: str = _classes(
        "none",
        metavar="NAME",
        parse=composed,
        help="class of rows that are near no class; examples with this label are left out, "
        "validation rows with it belong to no class",
        not_with="router",
    )
    validation: str | None = _threshold(
        None,
        metavar="FILE",
        help="labelled embeddings, other than the examples, from which --recall or --precision "
        "takes the threshold",
        not_with="router",
    )
    recall: float | None = _threshold(
        None,
        metavar="SHARE",
        parse=fraction,
        help="highest threshold at which this share of the rows that belong to a class gets its "
        "own class",
        shown=f"{RECALL} with --validation",
        goes_with="validation",
    )
    precision: float | None = _threshold(
        None,
        metavar="SHARE",
        parse=fraction,
        help="instead of --recall: lowest threshold at which this share of the assignments is "
        "right",
        goes_with="validation",
    )
    per_class: bool = _threshold(
        False,
        help="a threshold for each class from its own validation rows, instead of one for all; "
        "pays off where a class has many",
        goes_with="validation",
    )
    min_cosine: float | None = _threshold(
        None,
        parse=cosine,
        help="one threshold for all classes; with --validation, a lower limit for each",
        shown="none",
        not_with="router",
    )
    save_router: str | None = _router(
        None,
        metavar="FILE",
        help="write classes and thresholds (Parquet) for --router; needs no input",
        how=True,
        not_with="router",
    )
    router: str | None = _router(
        None,
        metavar="FILE",
        help="read classes and thresholds of --save-router, instead of --examples",
    )
    vectors: str | None = restated(VectorsOptions, "vectors")
    limit: int | None = restated(InputOptions, "limit", help="use only the first N rows")
    runners_up: int = output_option(2, parse=at_least(0), help="number of next classes to write")
    keep: tuple[str, ...] = output_option(
        ("all",), metavar="NAMES|all|none", parse=name_list, help="columns to write"
    )

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if bool(self.examples) == bool(self.router):
            raise ConfigError("--examples FILE or --router FILE: give one", hint="see --help")
        if self.recall and self.precision:
            raise ConfigError("--recall or --precision: give one")
        if self.unlabelled and (self.unlabelled == "-" or Path(self.unlabelled).is_fifo()):
            raise ConfigError("--unlabelled is read several times: a file, not a pipe")
        if self.examples and self.examples == self.validation != "-":
            what = "--validation is the file of --examples, each of whose rows is its own nearest"
            raise ConfigError(what, hint="hold out some labelled rows, and validate on them")

    @property
    def files(self) -> tuple[str, ...]:
        """What is assigned; nothing if only a router is to be made."""
        return self.inputs or (() if self.save_router else ("-",))

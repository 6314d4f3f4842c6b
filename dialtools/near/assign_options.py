"""Options of `dialtools assign`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dialtools.errors import ConfigError
from dialtools.options import RunOptions, argument, option, restated
from dialtools.streams.options import InputOptions, OutputOptions, VectorsOptions
from dialtools.values import at_least, composed, cosine, fraction, name_list

RECALL = 0.95


@dataclass
class AssignOptions(OutputOptions, RunOptions):
    """Which classes there are, how near a row must be, and what is told."""

    inputs: tuple[str, ...] = argument(help="embedding files to assign; none or - is stdin")
    examples: str | None = option(
        None, metavar="FILE", group="Classes", help="embeddings of some rows of each class"
    )
    label: str = option(
        "label", metavar="NAME", group="Classes", help="column of the labels", not_with="router"
    )
    nearest: int | None = option(
        None,
        parse=at_least(1),
        group="Classes",
        help="score a class by its N nearest examples (mean cosine)",
        shown="by its prototype: the mean of its examples",
        not_with="router",
    )
    unlabelled: str | None = option(
        None,
        metavar="FILE",
        group="Classes",
        help="embeddings of a log without labels; its rows move the prototypes of classes that "
        "have few examples",
        goes_with="examples",
        not_with="nearest",
    )
    none: str = option(
        "none",
        metavar="NAME",
        parse=composed,
        group="Classes",
        help="class of rows that are near no class; examples with this label are left out, "
        "validation rows with it belong to no class",
        not_with="router",
    )
    validation: str | None = option(
        None,
        metavar="FILE",
        group="Thresholds",
        help="labelled embeddings, other than the examples, from which --recall or --precision "
        "takes the threshold",
        not_with="router",
    )
    recall: float | None = option(
        None,
        metavar="SHARE",
        parse=fraction,
        group="Thresholds",
        help="highest threshold at which this share of the rows that belong to a class gets its "
        "own class",
        shown=f"{RECALL} with --validation",
        goes_with="validation",
    )
    precision: float | None = option(
        None,
        metavar="SHARE",
        parse=fraction,
        group="Thresholds",
        help="instead of --recall: lowest threshold at which this share of the assignments is "
        "right",
        goes_with="validation",
    )
    per_class: bool = option(
        False,
        group="Thresholds",
        help="a threshold for each class from its own validation rows, instead of one for all; "
        "pays off where a class has many",
        goes_with="validation",
    )
    min_cosine: float | None = option(
        None,
        parse=cosine,
        group="Thresholds",
        help="one threshold for all classes; with --validation, a lower limit for each",
        shown="none",
        not_with="router",
    )
    save_router: str | None = option(
        None,
        metavar="FILE",
        group="Router",
        help="write classes and thresholds (Parquet) for --router; needs no input",
        how=True,
        not_with="router",
    )
    router: str | None = option(
        None,
        metavar="FILE",
        group="Router",
        help="read classes and thresholds of --save-router, instead of --examples",
    )
    vectors: str | None = restated(VectorsOptions, "vectors")
    limit: int | None = restated(InputOptions, "limit", help="use only the first N rows")
    runners_up: int = option(
        2, parse=at_least(0), group="Output", help="number of next classes to write"
    )
    keep: tuple[str, ...] = option(
        ("all",),
        metavar="NAMES|all|none",
        parse=name_list,
        group="Output",
        help="columns to write",
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

"""Options of `dialtools assign`."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.options import RunOptions, argument, option, restated
from dialtools.streams.options import InputOptions, OutputOptions, VectorsOptions
from dialtools.values import at_least, cosine, fraction, name_list

RECALL = 0.95
OF_THE_ROUTER = (
    "examples",
    "validation",
    "recall",
    "precision",
    "per_class",
    "min_cosine",
    "nearest",
    "save_router",
)
"""Options that say how classes are told apart: a router knows."""


@dataclass
class AssignOptions(OutputOptions, RunOptions):
    """Which classes there are, how near a row must be, and what is told."""

    inputs: tuple[str, ...] = argument(
        metavar="FILE", help="embedding files to assign; none or - is stdin"
    )
    examples: str | None = option(
        None, metavar="FILE", group="Classes", help="embeddings of some rows of each class"
    )
    label: str = option("label", metavar="NAME", group="Classes", help="column of the labels")
    nearest: int | None = option(
        None,
        metavar="N",
        parse=at_least(1),
        group="Classes",
        help="score a class by its N nearest examples (mean cosine)",
        shown="by its prototype: the mean of its examples",
    )
    none: str = option(
        "none",
        metavar="NAME",
        group="Classes",
        help=(
            "class of rows that are near no class; examples with this label are left out, "
            "validation rows with it belong to no class"
        ),
    )
    validation: str | None = option(
        None,
        metavar="FILE",
        group="Thresholds",
        help=(
            "labelled embeddings, other than the examples, from which --recall or --precision "
            "takes the threshold"
        ),
    )
    recall: float | None = option(
        None,
        metavar="SHARE",
        parse=fraction,
        group="Thresholds",
        help=(
            "highest threshold at which this share of the rows that belong to a class gets its "
            "own class"
        ),
        shown=f"{RECALL} with --validation",
    )
    precision: float | None = option(
        None,
        metavar="SHARE",
        parse=fraction,
        group="Thresholds",
        help=(
            "instead of --recall: lowest threshold at which this share of the assignments is right"
        ),
    )
    per_class: bool = option(
        False,
        group="Thresholds",
        help=(
            "a threshold for each class from its own validation rows, instead of one for all; "
            "pays off where a class has many"
        ),
    )
    min_cosine: float | None = option(
        None,
        metavar="X",
        parse=cosine,
        group="Thresholds",
        help="one threshold for all classes; with --validation, a lower limit for each",
        shown="none",
    )
    save_router: str | None = option(
        None,
        metavar="FILE",
        group="Router",
        help="write classes and thresholds (Parquet) for --router; needs no input",
        how=True,
    )
    router: str | None = option(
        None, metavar="FILE", group="Router", help="read classes and thresholds of --save-router"
    )
    vectors: str | None = restated(VectorsOptions, "vectors")
    limit: int | None = restated(InputOptions, "limit", help="stop after N rows")
    runners_up: int = option(
        2, metavar="N", parse=at_least(0), group="Output", help="number of next classes to write"
    )
    keep: tuple[str, ...] = option(
        ("all",),
        metavar="NAMES|all|none",
        parse=name_list,
        group="Output",
        help="fields of the rows to write",
    )

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if bool(self.examples) == bool(self.router):
            raise ConfigError("--examples FILE or --router FILE: give one", hint="see --help")
        given = [name for name in OF_THE_ROUTER if getattr(self, name) not in (None, False)]
        if self.router and given:
            raise ConfigError(f"--{given[0].replace('_', '-')}: the router knows its own")
        asked = {"recall": self.recall, "precision": self.precision}
        if not self.validation and (self.per_class or any(asked.values())):
            raise ConfigError(
                "--recall, --precision and --per-class are of rows of --validation FILE"
            )
        if all(asked.values()):
            raise ConfigError("--recall or --precision: give one")
        if [*self.files, self.examples, self.validation, self.router].count("-") > 1:
            raise ConfigError("stdin can be read once")

    @property
    def files(self) -> tuple[str, ...]:
        """What is assigned; nothing if only a router is to be made."""
        return self.inputs or (() if self.save_router else ("-",))

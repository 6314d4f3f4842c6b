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
        help="a class is as near as its N nearest examples (mean cosine)",
        shown="as its prototype: the mean of its examples",
    )
    none: str = option(
        "none",
        metavar="NAME",
        group="Classes",
        help="class of rows that are near nothing; examples of it are left out, validation rows "
        "of it are near nothing",
    )
    validation: str | None = option(
        None,
        metavar="FILE",
        group="Thresholds",
        help="labelled embeddings, other ones: the threshold is what --recall or --precision asks "
        "of them",
    )
    recall: float | None = option(
        None,
        metavar="SHARE",
        parse=fraction,
        group="Thresholds",
        help="that share of the rows of classes gets its own: the highest such threshold",
        shown=f"{RECALL} with --validation",
    )
    precision: float | None = option(
        None,
        metavar="SHARE",
        parse=fraction,
        group="Thresholds",
        help="in place of it, that share of what classes get is right: the lowest such threshold",
    )
    per_class: bool = option(
        False,
        group="Thresholds",
        help="a threshold for each class by its own validation rows, in place of one by all; pays "
        "where a class has many",
    )
    min_cosine: float | None = option(
        None,
        metavar="X",
        parse=cosine,
        group="Thresholds",
        help="one threshold for all classes; with --validation, none is lower",
        shown="none",
    )
    save_router: str | None = option(
        None,
        metavar="FILE",
        group="Router",
        help="keep classes and thresholds (Parquet) for --router; no input is needed",
        how=True,
    )
    router: str | None = option(
        None, metavar="FILE", group="Router", help="classes and thresholds of --save-router"
    )
    vectors: str | None = restated(VectorsOptions, "vectors")
    limit: int | None = restated(InputOptions, "limit", help="stop after N rows")
    runners_up: int = option(
        2, metavar="N", parse=at_least(0), group="Output", help="classes to tell after the nearest"
    )
    keep: tuple[str, ...] = option(
        ("all",),
        metavar="NAMES|all|none",
        parse=name_list,
        group="Output",
        help="fields of the rows to tell",
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

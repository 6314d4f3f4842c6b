"""Options of commands that read and write records; the formats are those of FORMATS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dialtools.errors import ConfigError
from dialtools.options import argument, input_option, output_option, restated, run_option
from dialtools.streams.bounds import DEFAULTS, parse_bounds
from dialtools.streams.formats import INPUT_FORMATS, OUTPUT_FORMATS
from dialtools.streams.shards import Shard
from dialtools.values import ON_ERROR, at_least, byte_size, on_error_policy, part_of

TABLE_FORMATS = ("table", "jsonl", "markdown", "latex", "csv")
"""Of what is a table to a person, and records to a machine."""

TAKEN_UP = "go on where a stopped job left off (with -o FILE)"
OF_ALL_PARTS = "--limit counts the records of all parts, which no part knows"
ENGINES = ("local", "ray")
PARTS = 16
"""Into which a cluster's work is cut, unless told otherwise."""

_on_ray = partial(run_option, goes_with=("engine", ENGINES[1:]))
column = partial(input_option, metavar="NAME")
"""An option that names a column of tables, or a field of records."""
memory_option = partial(
    run_option, 1 << 30, metavar="SIZE", parse=byte_size(512 << 20), shown="1GB, at least 512MB"
)
"""An option that bounds what is held at once."""


@dataclass
class InputOptions:
    """Where records come from."""

    inputs: tuple[str, ...] = argument(help="files to read; none or - is stdin")
    from_: str | None = input_option(
        None,
        metavar="FORMAT",
        choices=INPUT_FORMATS,
        help="format of the input",
        shown="by suffix, else by content",
    )
    on_error: str = input_option(
        "fail",
        choices=ON_ERROR,
        parse=on_error_policy,
        help="what to do with a record that cannot be used",
        how=True,
    )
    bounds: tuple[str, ...] = input_option(
        (),
        metavar="KEY=SIZE",
        parse=parse_bounds,
        help="the largest input to accept, such as line=1GB; see dialtools-records(5)",
        shown=DEFAULTS,
        how=True,
    )
    limit: int | None = input_option(
        None,
        short="-n",
        parse=at_least(0),
        help="write only the first N records",
    )


@dataclass
class RowLimitOptions:
    """How much of embedding files is looked at."""

    limit: int | None = restated(
        InputOptions, "limit", parse=at_least(1), help="use only the first N rows"
    )


@dataclass
class VectorsOptions:
    """Which vectors of embedding files are looked at."""

    vectors: str | None = column(
        None,
        help="which vectors of a file with several; `context` means context_embedding",
        shown="the only ones, or embedding",
    )


@dataclass
class OutputOptions:
    """Where records go."""

    output: str = output_option(
        "-",
        short="-o",
        metavar="FILE",
        help="file to write; - is stdout",
        how=True,
    )
    to: str | None = output_option(
        None,
        metavar="FORMAT",
        choices=OUTPUT_FORMATS,
        help="format of the output",
        shown="by suffix, else jsonl",
    )
    overwrite: bool = output_option(False, help="replace an existing output", how=True)


@dataclass
class TableOutputOptions(OutputOptions):
    """Where records go that are a table to a person."""

    to: str | None = restated(
        OutputOptions,
        "to",
        choices=TABLE_FORMATS,
        shown="by suffix (.md, .tex, .csv); a table on a terminal, else jsonl",
    )


@dataclass
class ResumeOptions:
    """Whether a stopped job is taken up."""

    resume: bool = output_option(False, help=TAKEN_UP, how=True)


@dataclass
class ShardOptions:
    """Which part of the work is done here.

    Attributes:
        reads_all: whether a part reads all of the inputs.
    """

    reads_all: ClassVar[bool] = False

    shard: str | None = run_option(
        None,
        metavar="I/N",
        parse=part_of,
        help="do only part I of N (1/N to N/N); `dialtools gather` joins the parts",
    )

    @property
    def part(self) -> Shard | None:
        """The part, or None without --shard."""
        return Shard.named(self.shard)

    @property
    def cut_by(self) -> str:
        """The flags that cut the work into parts; nothing, if it is not cut."""
        return "--shard" if self.shard else ""

    def check_part(self, inputs: Sequence[str], of_the_whole: Mapping[str, object]) -> None:
        """Refuse a part of what only a whole run can do.

        Args:
            of_the_whole: by the reason, e.g. `--limit counts records of all parts`, whether the
                option is given.

        Raises:
            ConfigError: saying why.
        """
        if not self.cut_by:
            return
        if not inputs or "-" in inputs:
            raise ConfigError(f"{self.cut_by}: parts are cut out of named files, not out of stdin")
        for reason, given in of_the_whole.items():
            if given:
                hint = f"run it on what `dialtools gather` gives, or without {self.cut_by}"
                raise ConfigError(f"{self.cut_by}: {reason}", hint=hint)

    def check_part_output(
        self, output: str, *, lines: bool, table: str = "", instead: str = "jsonl"
    ) -> None:
        """Refuse a part that could not say what it is a part of, or would not fit the others.

        Args:
            lines: it is JSON lines.
            table: why the rows of a part make no part of a table, if they do not.
            instead: the format of which they do make parts.
        """
        if self.shard and not lines and table:
            raise ConfigError(f"--shard: {table}", hint=f"--to {instead} can be cut into parts")
        if self.shard and lines and output == "-":
            raise ConfigError(
                "--shard: a part of JSON lines has its manifest beside it", hint="name -o FILE"
            )


@dataclass
class EngineOptions(ShardOptions):
    """What does the work."""

    engine: str = run_option(
        ENGINES[0],
        choices=ENGINES,
        help="run in this process, or in parts on a Ray cluster (pip install "
        "'dialtools[ray]'); then -o names a folder for the parts",
    )
    parts: int | None = _on_ray(
        None,
        parse=at_least(1),
        help="number of parts that --engine ray cuts the work into",
        shown=str(PARTS),
    )
    workers: int | None = _on_ray(
        None,
        parse=at_least(1),
        help="at most N actors; each does one part at a time",
        shown="what the cluster has room for",
    )
    address: str | None = _on_ray(
        None,
        metavar="HOST:PORT",
        help="address of the Ray cluster",
        shown="RAY_ADDRESS, else one on this machine, begun if there is none",
    )

    @property
    def on_ray(self) -> bool:
        """Whether a cluster does the work."""
        return self.engine != ENGINES[0]

    @property
    def cut_by(self) -> str:
        return f"--engine {self.engine}" if self.on_ray else super().cut_by

    def check_engine(self, options: Any, unlike: Mapping[str, object]) -> None:
        """Refuse options that have no meaning on a cluster.

        Args:
            options: all of the command.
            unlike: by the reason, whether an option of this command is given that has none.

        Raises:
            ConfigError: saying why.
        """
        if not self.on_ray:
            return
        of_all = {
            "the parts go into a folder: name -o DIR": options.output == "-",
            "the parts are Parquet": options.to not in (None, "parquet"),
            "it cuts the work into parts itself: --parts N, not --shard": self.shard,
            "--dry-run plans the work of one process": options.dry_run,
            "parts cannot share a quarantine file": options.on_error.startswith("quarantine"),
        }
        for reason, given in {**of_all, **unlike}.items():
            if given:
                raise ConfigError(f"{self.cut_by}: {reason}")

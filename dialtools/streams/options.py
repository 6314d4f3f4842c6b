"""Options of commands that read and write records; the formats are those of FORMATS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.options import argument, option
from dialtools.streams.bounds import DEFAULTS, parse_bounds
from dialtools.streams.formats import INPUT_FORMATS, OUTPUT_FORMATS
from dialtools.streams.shards import Shard
from dialtools.values import ON_ERROR, at_least, on_error_policy, part_of

TABLE_FORMATS = ("table", "jsonl", "markdown", "latex", "csv")
"""Of what is a table to a person, and records to a machine."""

OF_ALL_PARTS = "--limit counts the records of all parts, which no part knows"
GATHER_FIRST = "run it on what `dialtools gather` gives, or without --shard"


@dataclass
class InputOptions:
    """Where records come from."""

    inputs: tuple[str, ...] = argument(help="files to read; none or - is stdin")
    from_: str | None = option(
        None,
        metavar="FORMAT",
        choices=INPUT_FORMATS,
        group="Input",
        help="format of the input",
        shown="by suffix, else by content",
    )
    on_error: str = option(
        "fail",
        choices=ON_ERROR,
        parse=on_error_policy,
        group="Input",
        help="what to do with a record that cannot be used",
        how=True,
    )
    bounds: tuple[str, ...] = option(
        (),
        metavar="KEY=SIZE",
        parse=parse_bounds,
        group="Input",
        help="most of an input to take at once, e.g. line=1GB",
        shown=DEFAULTS,
        how=True,
    )
    limit: int | None = option(
        None,
        short="-n",
        metavar="N",
        parse=at_least(0),
        group="Input",
        help="stop after N records of output",
    )


@dataclass
class OutputOptions:
    """Where records go."""

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
        choices=OUTPUT_FORMATS,
        group="Output",
        help="format of the output",
        shown="by suffix, else jsonl",
    )
    overwrite: bool = option(False, group="Output", help="replace an output that exists", how=True)


@dataclass
class ShardOptions:
    """Which part of the work is done here."""

    shard: str | None = option(
        None,
        metavar="I/N",
        parse=part_of,
        group="Run",
        help="do part I of N, 1/N to N/N, as a job of many; `dialtools gather` joins the parts",
        how=True,
    )

    @property
    def part(self) -> Shard | None:
        """The part, or None without --shard."""
        return Shard.named(self.shard)

    def check_part(self, inputs: Sequence[str], of_the_whole: Mapping[str, object]) -> None:
        """Refuse a part of what only a whole run can do.

        Args:
            of_the_whole: by the reason, e.g. `--limit counts records of all parts`, whether the
                option is given.

        Raises:
            ConfigError: saying why.
        """
        if not self.shard:
            return
        if not inputs or "-" in inputs:
            raise ConfigError("--shard: parts are cut out of named files, not out of stdin")
        for reason, given in of_the_whole.items():
            if given:
                raise ConfigError(f"--shard: {reason}", hint=GATHER_FIRST)

    def check_part_output(self, output: str, *, lines: bool, table: str = "") -> None:
        """Refuse a part that could not say what it is a part of, or would not fit the others.

        Args:
            lines: it is JSON lines.
            table: why the rows of a part make no part of a table, if they do not.
        """
        if self.shard and not lines and table:
            raise ConfigError(f"--shard: {table}", hint="--to jsonl can be cut into parts")
        if self.shard and lines and output == "-":
            raise ConfigError(
                "--shard: a part of JSON lines has its manifest beside it", hint="name -o FILE"
            )

"""Options of commands that read and write records; the formats are those of FORMATS."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.options import argument, option
from dialtools.streams.bounds import DEFAULTS, parse_bounds
from dialtools.streams.formats import INPUT_FORMATS, OUTPUT_FORMATS
from dialtools.values import ON_ERROR, at_least, on_error_policy


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

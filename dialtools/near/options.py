"""Options of `dialtools neighbors`, and what its sisters share with it."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.options import RunOptions, argument, input_option, option, output_option, restated
from dialtools.streams.options import InputOptions, OutputOptions, memory_option
from dialtools.values import at_least, cosine, name_list


@dataclass
class NeighborOptions(OutputOptions, RunOptions):
    """What is searched with, and among what; which rows count as near, what of them is told."""

    inputs: tuple[str, ...] = argument(
        shown="[QUERIES [INDEX]]",
        help="QUERIES and INDEX: embedding files, or folders of parts; without INDEX each row is "
        "searched among the others of QUERIES; none or - is stdin",
    )
    k: int = option(
        10,
        short="-k",
        parse=at_least(1, most=10_000),
        help="number of nearest rows per row, if there are as many",
        not_with="groups",
    )
    limit: int | None = restated(
        InputOptions, "limit", help="use only the first N rows as queries", not_with="groups"
    )
    groups: bool = option(
        False,
        help="write groups of rows that are linked by cosines of at least --min-cosine, instead "
        "of pairs",
    )
    approximate: bool = option(
        False,
        help="search a graph of the rows (HNSW, needs dialtools[ann]) and report what it misses;"
        " it is in memory, on top of --memory",
        not_with="groups",
    )
    min_cosine: float | None = option(
        None, parse=cosine, help="lowest cosine of a row that counts as near", shown="none"
    )
    vectors: tuple[str, ...] = input_option(
        (),
        metavar="NAME[,NAME]",
        parse=name_list,
        help="if the files have several vectors: those to search with, and those to search "
        "among; context,response takes context_embedding and response_embedding",
        shown="the only ones, or embedding",
    )
    keep: tuple[str, ...] = output_option(
        (),
        metavar="NAMES|all|none",
        parse=name_list,
        help="columns to write beside the numbers of the rows",
        shown="id and what was embedded, if present",
    )
    distinct: bool = input_option(False, help="treat rows with equal texts as one, the first")
    memory: int = memory_option(
        help="memory to use; less needs more passes over the rows that are searched"
    )

    def __post_init__(self) -> None:
        if len(self.vectors) > 2:
            raise ConfigError("--vectors names two at most: to search with, and to search among")
        if len(self.inputs) > 2:
            raise ConfigError("two files at most: QUERIES and INDEX", hint="a folder is one")
        if self.crosses and self.inputs in ((), ("-",)):
            raise ConfigError("vectors of two names are searched in a named file, not in stdin")
        if self.groups and self.min_cosine is None:
            raise ConfigError("--groups needs --min-cosine X: what links two rows")
        if self.groups and (self.joins or self.crosses):
            raise ConfigError("--groups is of all rows of one file, by one vector each")

    @property
    def joins(self) -> bool:
        """Whether there are two files: one named twice is one."""
        return len(set(self.inputs)) == 2

    @property
    def crosses(self) -> bool:
        """Whether vectors of one name are searched among those of another, in one file."""
        return len(set(self.vectors)) == 2 and not self.joins

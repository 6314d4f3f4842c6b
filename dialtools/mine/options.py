"""Options of `dialtools mine`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from dialtools.errors import ConfigError
from dialtools.options import RunOptions, option, restated
from dialtools.streams.options import InputOptions, OutputOptions
from dialtools.values import at_least, either, name_list, not_negative, number

MOST_RANKS = 10_000
"""That many are held of each pair of a block."""
TOP, RANDOM = "top", "random"


@dataclass
class MineOptions(InputOptions, OutputOptions, RunOptions):
    """What negatives are looked for, and which of them are taken."""

    to: str | None = restated(
        OutputOptions, "to", shown="by suffix, else jsonl; arrow if a table goes into a pipe"
    )
    limit: int | None = restated(
        InputOptions, "limit", help="use only the first N pairs, for negatives too"
    )
    embeddings: tuple[str, ...] = option(
        (),
        metavar="FILE[,FILE...]",
        parse=name_list,
        help="vectors of contexts and responses, or of single texts, with their texts beside them",
        shown="needed",
    )
    num_negatives: int = option(
        3, parse=at_least(1), help="number of negatives per pair, if there are as many"
    )
    range_min: int = option(
        0, parse=at_least(0), help="skip the N nearest of the allowed responses"
    )
    range_max: int | None = option(
        None,
        parse=at_least(1),
        help="take none beyond the N nearest of the allowed responses",
        shown="--range-min + 10 x --num-negatives",
    )
    sampling_strategy: str = option(
        TOP,
        choices=(TOP, RANDOM),
        help="take the nearest of that range, or some drawn by --seed",
    )
    relative_margin: float = option(
        0.05,
        metavar="X|none",
        parse=either({"none": -inf, "-inf": -inf}, not_negative),
        help="a negative scores at most p - X|p|, where p is the score of the pair's own response; "
        "none: it may score more than p",
    )
    absolute_margin: float | None = option(
        None, parse=number, help="a negative scores at most p - X", shown="none"
    )
    max_score: float | None = option(
        None, parse=number, help="a negative scores at most X", shown="none"
    )
    min_score: float | None = option(
        None, parse=number, help="a negative scores at least X", shown="none"
    )

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if not self.embeddings:
            raise ConfigError(
                "--embeddings FILE is needed",
                hint="dial-embed --field context,response makes it of the pairs",
            )
        if self.range_max is not None and self.range_max <= self.range_min:
            raise ConfigError("--range-max must be above --range-min")
        least, most = self.min_score, self.max_score
        if least is not None and most is not None and least > most:
            raise ConfigError("--max-score must be --min-score or above")
        if self.ranks > MOST_RANKS:
            told = f"--range-max is {self.ranks:,} nearest of each pair, {MOST_RANKS:,} at most"
            raise ConfigError(told, hint="unless given, --range-min + 10 x --num-negatives")

    @property
    def ranks(self) -> int:
        """How many of the nearest are looked at."""
        if self.range_max is not None:
            return self.range_max
        return self.range_min + 10 * self.num_negatives

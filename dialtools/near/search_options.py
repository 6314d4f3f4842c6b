"""Options of `dialtools search`."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.encoder.options import PieceOptions
from dialtools.errors import ConfigError
from dialtools.near.assign_options import AssignOptions
from dialtools.near.options import NearOptions
from dialtools.options import RunOptions, argument, option, restated


@dataclass
class SearchOptions(PieceOptions, RunOptions):
    """What is looked for, where, and what is told of it."""

    asked: tuple[str, ...] = argument(
        metavar="FILE TEXT", help="an embedding file, or a folder of parts; and texts to look for"
    )
    model: str | None = option(
        None, metavar="DIR", help="encoder of the texts", shown="that which made FILE, as it tells"
    )
    k: int = restated(NearOptions, "k", help="the nearest rows of a text")
    min_cosine: float | None = restated(NearOptions, "min_cosine")
    distinct: bool = restated(NearOptions, "distinct")
    vectors: str | None = restated(AssignOptions, "vectors")
    keep: tuple[str, ...] = restated(NearOptions, "keep")
    json: bool = option(
        False, group="Output", help="a JSON line a row", shown="when stdout is no terminal"
    )

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if len(self.asked) < 2:
            raise ConfigError(
                "name a file and a text", hint='dialtools search tickets.parquet "lost my card"'
            )

    @property
    def inputs(self) -> tuple[str, ...]:
        """The file."""
        return self.asked[:1]

    @property
    def texts(self) -> tuple[str, ...]:
        """What is looked for."""
        return self.asked[1:]

"""Options of `dialtools search`."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dialtools.encoder.options import PieceOptions
from dialtools.errors import ConfigError
from dialtools.near.options import NeighborOptions
from dialtools.options import RunOptions, argument, option, output_option, restated
from dialtools.shown import quoted
from dialtools.streams.options import VectorsOptions

FOLDER = 'vectors/ "lost my card"'


@dataclass
class SearchOptions(PieceOptions, RunOptions):
    """What is looked for, where, and what is told of it."""

    asked: tuple[str, ...] = argument(
        metavar="FILE TEXT",
        shown="FILE TEXT...",
        help="an embedding file, or a folder of parts; and texts to look for",
    )
    model: str | None = option(
        None, metavar="DIR", help="encoder of the texts", shown="the one that FILE records"
    )
    transform: str | None = option(
        None,
        metavar="FILE",
        help="move the texts to where their responses lie, by a file of dial-embed --transform "
        "to-response --save-transform: find what to answer",
    )
    k: int = restated(NeighborOptions, "k", help="number of nearest rows per text", not_with=None)
    min_cosine: float | None = restated(NeighborOptions, "min_cosine")
    distinct: bool = restated(NeighborOptions, "distinct")
    vectors: str | None = restated(VectorsOptions, "vectors")
    keep: tuple[str, ...] = restated(NeighborOptions, "keep")
    json: bool = output_option(
        False, help="write a JSON line per row", shown="when stdout is not a terminal"
    )

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if len(self.asked) < 2:
            raise ConfigError(
                "name a file and a text", hint='dialtools search tickets.parquet "lost my card"'
            )
        files = {"-", *filter(os.path.exists, self.asked)}
        if self.asked[0] not in files and len(files) > 1:
            raise ConfigError(f"{quoted(self.asked[0])}: the file comes first, then the texts")
        if more := files.intersection(self.texts) - {"-"}:
            hint = f"the files of a folder are searched together: dialtools search {FOLDER}"
            raise ConfigError(f"{quoted(min(more))} is a file, not a text", hint=hint)
        if "-" in self.texts:
            hint = f"a file of texts, one a line: xargs -d '\\n' dialtools search {self.asked[0]}"
            raise ConfigError("texts are arguments, and - is none", hint=hint)
        if not all(text.strip() for text in self.texts):
            raise ConfigError("a text to search for is blank")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The file."""
        return self.asked[:1]

    @inputs.setter
    def inputs(self, files: tuple[str, ...]) -> None:
        self.asked = (*files, *self.texts)

    @property
    def texts(self) -> tuple[str, ...]:
        """What is looked for."""
        return self.asked[1:]

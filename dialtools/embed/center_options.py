"""Options of `dialtools center`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from dialtools.corpora.options import AnyRecordOptions
from dialtools.embed.options import EmbedOptions
from dialtools.encoder.options import PieceOptions, RemoteCodeOptions
from dialtools.errors import ConfigError
from dialtools.options import RunOptions, restated
from dialtools.streams.options import InputOptions, OutputOptions


@dataclass
class CenterOptions(AnyRecordOptions, RemoteCodeOptions, PieceOptions, RunOptions):
    """Which model is centred, on what, and where it goes."""

    model: str = restated(
        EmbedOptions, "model", help="encoder: a model directory, or a name in the local cache"
    )
    field: tuple[str, ...] = restated(EmbedOptions, "field")
    sample: float | None = restated(
        EmbedOptions, "sample", help="embed this share of the records, drawn by --seed"
    )
    limit: int | None = restated(InputOptions, "limit", help="embed the first N records only")
    output: str = restated(
        OutputOptions, "output", default="", metavar="DIR", help="model directory to write"
    )
    overwrite: bool = restated(
        OutputOptions, "overwrite", help="replace a model directory that exists"
    )

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if not self.model:
            raise ConfigError("--model DIR is needed", hint="a sentence encoder on your disk")
        if Path(self.model).is_file():
            raise ConfigError(
                f"--model {self.model}: a file has no place for a centre",
                hint="dial-embed --transform center takes the mean off its vectors",
            )
        if not self.output:
            raise ConfigError("name the model directory to write: -o DIR")

    def embedding(self) -> EmbedOptions:
        """Return how the texts are embedded."""
        own = {field.name for field in dataclasses.fields(EmbedOptions)} - {"output", "overwrite"}
        same = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name in own
        }
        return EmbedOptions(**same, normalize=True)

"""Options of what makes a model of another one without training: `center`, `weigh` and `cut`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dialtools.corpora.options import AnyRecordOptions
from dialtools.embed.options import EmbedOptions
from dialtools.encoder.options import PieceOptions, RemoteCodeOptions
from dialtools.errors import ConfigError
from dialtools.options import RunOptions, option, restated
from dialtools.streams.options import OutputOptions
from dialtools.values import at_least, bounded


@dataclass
class DerivedOptions(RemoteCodeOptions, RunOptions):
    """Which model is changed, and where the changed one goes.

    Attributes:
        not_of_files: why a file of word vectors will not do, and what to do instead.
    """

    not_of_files: ClassVar[tuple[str, str]]

    model: str = restated(
        EmbedOptions, "model", help="encoder: a model directory, or a name in the local cache"
    )
    output: str = restated(
        OutputOptions,
        "output",
        default="",
        metavar="DIR",
        help="model directory to write",
        shown="needed",
    )
    overwrite: bool = restated(
        OutputOptions, "overwrite", help="replace an existing model directory"
    )

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if not self.model:
            raise ConfigError("--model DIR is needed", hint="a sentence encoder on your disk")
        if Path(self.model).is_file():
            why, hint = self.not_of_files
            raise ConfigError(f"--model {self.model}: {why}", hint=hint)
        if not self.output:
            raise ConfigError("name the model directory to write: -o DIR")


@dataclass
class TextsOptions(AnyRecordOptions, DerivedOptions):
    """By which texts a model is changed."""

    field: tuple[str, ...] = restated(EmbedOptions, "field")
    sample: float | None = restated(
        EmbedOptions, "sample", help="use this share of the records, drawn by --seed"
    )
    limit: int | None = restated(EmbedOptions, "limit", help="use only the first N records")

    def embedding(self) -> EmbedOptions:
        """Return how the texts are embedded."""
        own = {field.name for field in dataclasses.fields(EmbedOptions)} - {"output", "overwrite"}
        same = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name in own
        }
        return EmbedOptions(**same, normalize=True)


@dataclass
class CenterOptions(TextsOptions, PieceOptions):
    """How `dialtools center` embeds the texts."""

    not_of_files = (
        "a file has no place for a centre",
        "dial-embed --transform center takes the mean off its vectors",
    )


@dataclass
class WeighOptions(TextsOptions):
    """How `dialtools weigh` weighs tokens."""

    not_of_files = (
        "a file of word vectors has no place for weights",
        "the length of a word's vector is its weight",
    )

    half_at: float = option(
        0.03,
        metavar="SHARE",
        parse=bounded(low=1e-9, high=1),
        help="a token with this share of the log's tokens weighs one half",
    )


@dataclass
class CutOptions(DerivedOptions):
    """How many layers `dialtools cut` keeps."""

    not_of_files = ("a file of word vectors has no layers", "")

    layers: int | None = option(
        None, parse=at_least(1), help="keep the first N layers", shown="needed"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.layers and not self.print_config:
            raise ConfigError("--layers N is needed", hint="half of those there are is a start")

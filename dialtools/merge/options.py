"""Options of `dialtools merge`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dialtools.encoder.options import PieceOptions
from dialtools.errors import ConfigError
from dialtools.options import RunOptions, argument, option, restated
from dialtools.shown import quoted
from dialtools.streams.options import OutputOptions
from dialtools.values import name_list, number, numbers

MOST = 400
"""Candidates: each is written, loaded and embeds every validation text."""


class Named(NamedTuple):
    """A model as the command line names it; the weight is None where none is given."""

    name: str
    weight: float | None

    @classmethod
    def parse(cls, text: str) -> Named:
        """Read MODEL or MODEL*WEIGHT.

        Raises:
            ConfigError: for a weight that is no number, or not finite; or of a URI, as which the
                whole text is fetched.
        """
        name, star, weight = text.rpartition("*")
        if not star:
            return cls(text, None)
        if "://" in name:
            hint = "copy the model to this machine, and name the copy"
            raise ConfigError(f"{quoted(text)}: no weight is taken of a model elsewhere", hint=hint)
        try:
            return cls(name, number(weight))
        except ValueError as error:
            raise ConfigError(f"{quoted(text)}: the weight: {error}") from None


@dataclass
class MergeOptions(PieceOptions, RunOptions):
    """What is merged, with which weights, and where it goes."""

    inputs: tuple[str, ...] = argument(
        metavar="MODEL",
        shown="START MODEL...",
        help="the start, then models that were trained from it, each with its weight: dse*0.7",
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
    choose_on: tuple[str, ...] = option(
        (),
        metavar="FILE[,FILE...]",
        parse=name_list,
        group="Choice",
        help=(
            "choose the weights on these files: pairs (1-of-100 response selection), or "
            "labelled records with a split (1- and 5-shot intents by prototypes)"
        ),
    )
    grid: tuple[float, ...] = option(
        (0.0, 0.25, 0.5, 0.75, 1.0),
        metavar="W[,W...]",
        parse=numbers,
        group="Choice",
        help="weights to try for every model",
        shown="0,0.25,0.5,0.75,1",
        goes_with="choose_on",
    )

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if len(self.inputs) < 2:
            raise ConfigError("name the start, then a model that was trained from it")
        if not self.output:
            raise ConfigError("name the model directory to write: -o DIR")
        if Named.parse(self.inputs[0]).weight is not None:
            raise ConfigError(f"{quoted(self.inputs[0])}: the start comes first, without a weight")
        self._check_choice()

    @property
    def models(self) -> list[Named]:
        """Those that were trained from the start."""
        return [Named.parse(text) for text in self.inputs[1:]]

    @property
    def weights(self) -> list[float]:
        """Those of the models, as given."""
        return [1.0 if model.weight is None else model.weight for model in self.models]

    @property
    def candidates(self) -> int:
        """How many there are to choose among, the start as it is among them."""
        each = len(self.grid) ** len(self.models)
        return each + (0.0 not in self.grid)

    def _check_choice(self) -> None:
        weighted = [model.name for model in self.models if model.weight is not None]
        if not self.choose_on:
            return
        if weighted:
            raise ConfigError(f"--choose-on chooses the weights: {weighted[0]} has one")
        if self.candidates > MOST:
            raise ConfigError(
                f"{self.candidates:,} candidates, {MOST} at most",
                hint="--grid with fewer weights, or fewer models",
            )

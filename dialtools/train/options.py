"""Options of dial-train.

What belongs to the run as a whole stands here. Values that recipes publish stand in
`hyperparameters` and beside the objectives that they belong to; TrainOptions is composed of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from dialtools.encoder.catalog import POOLINGS
from dialtools.encoder.options import PRECISIONS
from dialtools.errors import ConfigError
from dialtools.options import (
    DRY_RUN,
    Layer,
    RunOptions,
    argument,
    option,
    resolve,
    specs,
)
from dialtools.streams.formats import RECORD_FORMATS
from dialtools.train import recipe
from dialtools.train.hyperparameters import Hyperparameters, settled
from dialtools.train.objectives.catalog import OBJECTIVES, ObjectiveEntry
from dialtools.values import (
    ON_ERROR,
    at_least,
    int_list,
    on_error_policy,
    share_below_one,
    steps_or_epoch,
)


@dataclass
class StartOptions:
    """What is read, what training starts from, and where the model goes."""

    inputs: tuple[str, ...] = argument(help="pair files; none or - is stdin")
    method: str = option(
        recipe.DEFAULT,
        metavar="RECIPE",
        choices=recipe.names,
        help="the recipe: published values, which flags override",
    )
    model: str | None = option(
        None,
        metavar="DIR",
        help="encoder to start from: a directory, or a name in the local cache",
        shown="a fresh small encoder",
    )
    output: str = option(
        "model",
        short="-o",
        metavar="DIR",
        help="model directory to write",
        how=True,
    )
    from_: str | None = option(
        None,
        metavar="FORMAT",
        choices=RECORD_FORMATS,
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
    limit: int | None = option(
        None,
        short="-n",
        metavar="N",
        parse=at_least(0),
        group="Input",
        help="use the first N pairs only",
    )
    window: tuple[int, ...] = option(
        (),
        metavar="N[,N...]",
        parse=int_list,
        group="Input",
        help="use pairs of these window sizes only",
        shown="all",
    )


@dataclass
class RecipeOptions:
    """Of a recipe's values those that may stay unsaid."""

    objective: str | None = option(
        None,
        choices=OBJECTIVES,
        group="Recipe",
        help="what is learnt from the pairs",
        shown="by recipe",
    )
    pooling: str | None = option(
        None,
        choices=POOLINGS,
        group="Recipe",
        help="how token vectors become one",
        shown="by recipe, else the model's own",
    )
    max_steps: int | None = option(
        None,
        metavar="N",
        parse=at_least(0),
        group="Recipe",
        help="stop after N steps; 0 saves the start as it is",
    )
    context_max_length: int | None = option(
        None,
        metavar="N",
        parse=at_least(4),
        group="Recipe",
        help="tokens of a context at most; the oldest go first",
        shown="max-length times the longest window",
    )


@dataclass
class FreshOptions:
    """The encoder that training starts from without --model."""

    hidden: int = option(
        256,
        metavar="N",
        parse=at_least(64),
        group="Fresh encoder",
        help="width without --model",
    )
    layers: int = option(
        2,
        metavar="N",
        parse=at_least(1),
        group="Fresh encoder",
        help="depth without --model",
    )
    vocab_size: int = option(
        8000,
        metavar="N",
        parse=at_least(300),
        group="Fresh encoder",
        help="words of its tokenizer",
    )


@dataclass
class ValidationOptions:
    """What is held out, and when it is looked at."""

    validate: str | None = option(
        None,
        metavar="FILE",
        group="Validation",
        help="pairs for 1-of-100 response selection during training",
    )
    validation_share: float = option(
        0.0,
        metavar="SHARE",
        parse=share_below_one,
        group="Validation",
        help="hold out this share of the dialogues for it",
    )
    validate_every: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Validation",
        help="steps between validations",
        shown="once an epoch",
    )
    keep_best: bool = option(
        False,
        group="Validation",
        help="save the best checkpoint by validation, not the last",
    )


@dataclass
class EngineOptions:
    """How the run goes on this machine."""

    device: str = option(
        "auto",
        metavar="NAME",
        group="Engine",
        help="auto, cpu, cuda, cuda:1, mps",
    )
    precision: str = option(
        "auto",
        choices=PRECISIONS,
        group="Engine",
        help="auto: bfloat16 on CUDA, float32 elsewhere",
    )
    threads: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Engine",
        help="CPU threads",
        shown="the cores there are",
        how=True,
    )
    micro_batch_tokens: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Engine",
        help="padded tokens encoded at once",
        shown="1024 on CPU, 32768 on CUDA",
    )
    grad_cache: str = option(
        "auto",
        choices=("auto", "on", "off"),
        group="Engine",
        help="encode twice, keep one micro-batch in memory; "
        "auto: when a batch would need over 2 GiB",
    )
    trust_remote_code: bool = option(
        False,
        group="Engine",
        help="run code that comes with the model",
    )
    checkpoint_every: int = option(
        200,
        metavar="N",
        parse=at_least(1),
        group="Engine",
        help="steps between checkpoints",
        how=True,
    )
    snapshot_every: int | None = option(
        None,
        metavar="N|epoch",
        parse=steps_or_epoch,
        group="Engine",
        help="keep a model directory of every N steps or of every epoch, of the start and of the "
        "end, in snapshots/ of the model directory: dial-eval curve scores them",
        how=True,
    )
    resume: bool = option(
        False,
        group="Engine",
        help="go on from the checkpoint of a run that was stopped",
        how=True,
    )
    overwrite: bool = option(
        False,
        group="Engine",
        help="replace a model directory that exists",
        how=True,
    )
    dry_run: bool = option(False, **DRY_RUN)
    cache: str | None = option(
        None,
        metavar="DIR",
        group="Engine",
        help="keep the tokenised pairs here for the next run",
        how=True,
    )
    tensorboard: str | None = option(
        None,
        metavar="DIR",
        group="Engine",
        help="also log for TensorBoard",
        how=True,
    )


def _check(options: TrainOptions) -> None:
    """Raise ConfigError if options do not agree, whatever their source."""
    if options.keep_best and not (options.validate or options.validation_share):
        raise ConfigError("--keep-best needs --validate FILE or --validation-share")
    if options.model:
        _refuse_fresh(options)
    if options.resume and options.overwrite:
        raise ConfigError("--resume goes on, --overwrite starts over: give one")
    if options.objective:
        _check_owners(options)
        hyperparameters(options)
        objective_options(options)


def _refuse_fresh(options: TrainOptions) -> None:
    """Raise ConfigError if the size of a fresh encoder was chosen, beside a model."""
    sizes = specs(FreshOptions)
    if any(getattr(options, size.name) != size.default for size in sizes):
        *flags, last = (size.flag for size in sizes)
        named = f"{', '.join(flags)} and {last}"
        raise ConfigError(f"{named} belong to a fresh encoder, not to --model")


def _check_owners(options: TrainOptions) -> None:
    """Raise ConfigError for an option that belongs to other objectives than the one chosen."""
    owners: dict[str, list[str]] = {}
    for name, entry in OBJECTIVES.items():
        for each in fields(entry.options):
            owners.setdefault(each.name, []).append(name)
    for name, names in owners.items():
        value = getattr(options, name)
        # Recipes say `false` of what they do not use, for the reader: that is no choice. A 0 is.
        chosen = value is not None and value is not False
        if chosen and options.objective not in names:
            key, home = name.replace("_", "-"), " or ".join(names)
            raise ConfigError(f"--{key} belongs to --objective {home}, not to {options.objective}")


def _fields(group: type, *, unsaid: bool = False) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, type and field of each option of a group.

    Args:
        unsaid: they are a recipe's values; where no flag says them they are None.
    """
    hints = get_type_hints(group)
    for each in fields(group):
        kind, default = hints[each.name], each.default
        if unsaid:
            kind, default = kind | None, None
        yield each.name, kind, field(default=default, metadata=each.metadata)


def _composed() -> type:
    """Return the dataclass of all options; what several objectives share stands there once."""
    objectives = [entry.options for entry in OBJECTIVES.values()]
    options = [
        *_fields(StartOptions),
        *_fields(RecipeOptions),
        *(each for group in (Hyperparameters, *objectives) for each in _fields(group, unsaid=True)),
        *_fields(FreshOptions),
        *_fields(ValidationOptions),
        *_fields(EngineOptions),
    ]
    distinct: dict[str, tuple[str, Any, Any]] = {}
    for each in options:
        distinct.setdefault(each[0], each)
    return make_dataclass(
        "TrainOptions",
        distinct.values(),
        bases=(RunOptions,),
        namespace={
            "__doc__": "What is trained, how, and where it goes.",
            "__module__": __name__,
            "__post_init__": _check,
        },
    )


if TYPE_CHECKING:

    @dataclass
    class TrainOptions(
        StartOptions, RecipeOptions, FreshOptions, ValidationOptions, EngineOptions, RunOptions
    ):
        """What is trained, how, and where it goes; recipes' values are read by `settled`."""
else:
    TrainOptions = _composed()


def recipe_options(**values: Any) -> TrainOptions:
    """Return the options of a recipe, `method`, with some of its values replaced."""
    said = {name.replace("_", "-"): value for name, value in values.items()}
    options, _ = resolve(TrainOptions, [Layer("options", said), *recipe.layers(said)])
    return options


def hyperparameters(options: TrainOptions) -> Hyperparameters:
    """Return what training needs to know, settled.

    Raises:
        ConfigError: for a value that neither a flag nor the recipe says.
    """
    return settled(Hyperparameters, options)


def objective_entry(options: TrainOptions) -> ObjectiveEntry:
    """Return the entry of the objective.

    Raises:
        ConfigError: if neither a flag nor the recipe says which.
    """
    if not options.objective:
        raise ConfigError("--objective is not set")
    return OBJECTIVES[options.objective]


def objective_options(options: TrainOptions) -> Any:
    """Return the options of the objective, settled.

    Raises:
        ConfigError: for a value that neither a flag nor the recipe says.
    """
    return settled(objective_entry(options).options, options)

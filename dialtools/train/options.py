"""Options of dial-train.

TrainOptions is composed here, and checked. What belongs to the run as a whole is declared in
`option_groups`, values that recipes publish in `hyperparameters` and beside the objectives that
they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from dialtools.encoder.options import DeviceOptions, RemoteCodeOptions
from dialtools.errors import ConfigError
from dialtools.options import RunOptions, specs
from dialtools.train.catalog import OPTIMISERS
from dialtools.train.hyperparameters import RECIPE, Hyperparameters, settled
from dialtools.train.objectives.catalog import OBJECTIVES, ContrastOptions, ObjectiveEntry
from dialtools.train.option_groups import (
    FreshOptions,
    MemoryOptions,
    ProgressOptions,
    RecipeOptions,
    StartOptions,
    TeacherOptions,
    ValidationOptions,
)
from dialtools.train.start import STATIC, is_table

ENGINE = (DeviceOptions, MemoryOptions, RemoteCodeOptions, ProgressOptions)
"""How a run goes on this machine, in the order of the help page."""

FIRST = ("Options", RECIPE, "Validation", "Teacher", "Fresh encoder")
"""Groups that most people need: on the help page the others stand after them."""


def _check(options: TrainOptions) -> None:
    """Raise ConfigError if options do not agree, whatever their source."""
    _refuse_foreign_sizes(options)
    if options.resume and options.overwrite:
        raise ConfigError("--resume goes on, --overwrite starts over: give one")
    if options.objective:
        _check_owners(options)
        if options.encoder == STATIC and objective_entry(options).contextual:
            raise ConfigError(
                f"--objective {options.objective} learns words in their context",
                hint="which a static encoder does not see: --encoder transformer",
            )
        _check_teacher(options)
        _refuse_lazy_decay(hyperparameters(options))
        _check_start(options)


def _check_teacher(options: TrainOptions) -> None:
    """Raise ConfigError for a teacher that cannot be read, stands where pairs should, or is two."""
    hold = hyperparameters(options).hold_weight
    if options.teacher == "-":
        raise ConfigError("--teacher -: stdin is for pairs", hint="name an embedding file")
    if options.teacher and hold:
        raise ConfigError(
            "--teacher and --hold-weight both say where texts belong", hint="take one"
        )
    if objective_entry(options).taught and (options.teacher or hold):
        message = f"--objective {options.objective} reads its teacher's vectors as its input"
        raise ConfigError(message, hint="--teacher and --hold-weight go with pairs")


def _refuse_lazy_decay(values: Hyperparameters) -> None:
    """Raise ConfigError for a decay of rows that a step does not see."""
    if OPTIMISERS[values.optimizer].lazy and values.weight_decay:
        raise ConfigError(
            f"--optimizer {values.optimizer} has no weight decay, got {values.weight_decay:g}",
            hint="--weight-decay 0, or --optimizer adamw",
        )


def _check_start(options: TrainOptions) -> None:
    """Raise ConfigError for what only a start that has learnt something can be asked."""
    special = objective_options(options)
    values = hyperparameters(options)
    asked = {
        "--merge-with-start": values.merge_with_start < 1,
        "--hold-weight": values.hold_weight > 0,
    }
    if isinstance(special, ContrastOptions):
        asked["--guide-floor"] = special.guide_floor < 1
    for flag in (flag for flag, is_asked in asked.items() if is_asked and not options.model):
        raise ConfigError(f"{flag} needs --model: a fresh encoder is no start")


def _refuse_foreign_sizes(options: TrainOptions) -> None:
    """Raise ConfigError for the size of another encoder than the one that is trained.

    A model has its size; of a transformer a static encoder of any width is made.
    """
    static, model = options.encoder == STATIC, options.model
    if static and not model and options.layers:
        raise ConfigError("--layers goes with --encoder transformer")
    averages = static and (not model or is_table(model))
    if averages and options.pooling not in (None, "mean"):
        raise ConfigError(f"--pooling {options.pooling}: a static encoder averages its tokens")
    if not model:
        return
    sizes = [size for size in specs(FreshOptions) if size.name != "encoder"]
    if static and not is_table(model):
        sizes = [size for size in sizes if size.name != "hidden"]
    if any(getattr(options, size.name) for size in sizes):
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
            key, homes = name.replace("_", "-"), [", ".join(names[:-1]), names[-1]]
            home = " or ".join(filter(None, homes))
            raise ConfigError(f"--{key} belongs to --objective {home}, not to {options.objective}")


def _fields(*groups: type, unsaid: bool = False) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, type and field of each option of some groups.

    Args:
        unsaid: they are a recipe's values; where no flag says them they are None.
    """
    for group in groups:
        hints = get_type_hints(group)
        for each in fields(group):
            kind, default = hints[each.name], each.default
            if unsaid:
                kind, default = kind | None, None
            yield each.name, kind, field(default=default, metadata=each.metadata)


def _place(group: str | None) -> int:
    return FIRST.index(group) if group in FIRST else len(FIRST)


def _composed() -> type:
    """Return the dataclass of all options; what several objectives share stands there once."""
    objectives = [entry.options for entry in OBJECTIVES.values()]
    options = [
        *_fields(StartOptions, TeacherOptions),
        *_fields(Hyperparameters, unsaid=True),
        *_fields(RecipeOptions),
        *_fields(*objectives, unsaid=True),
        *_fields(FreshOptions, ValidationOptions, *ENGINE),
    ]
    options.sort(key=lambda o: _place(o[2].metadata.get("group")))
    distinct: dict[str, tuple[str, Any, Any]] = {}
    for name, kind, each in options:
        distinct.setdefault(name, (name, kind, each))
    return make_dataclass(
        "TrainOptions",
        distinct.values(),
        bases=(RunOptions,),
        eq=False,
        repr=False,
        namespace={
            "__doc__": "What is trained, how, and where it goes.",
            "__module__": __name__,
            "__post_init__": _check,
        },
    )


if TYPE_CHECKING:

    @dataclass
    class TrainOptions(
        StartOptions,
        TeacherOptions,
        RecipeOptions,
        FreshOptions,
        ValidationOptions,
        DeviceOptions,
        MemoryOptions,
        RemoteCodeOptions,
        ProgressOptions,
        RunOptions,
    ):
        """What is trained, how, and where it goes; recipes' values are read by `settled`."""
else:
    TrainOptions = _composed()


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

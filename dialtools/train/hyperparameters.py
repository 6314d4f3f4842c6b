"""Values that recipes publish and flags override: how they are declared, and how they are settled.

A recipe's value stands twice among the options. As a flag it may be unsaid (None), so that the
recipe speaks; settled, in a frozen dataclass, it has a value or there is an error.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dialtools.errors import ConfigError
from dialtools.options import option
from dialtools.train.catalog import OPTIMISERS, SCHEDULES
from dialtools.values import at_least, fraction, not_negative, share, share_below_one

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

RECIPE = "Recipe's values"
"""What help calls the flags that override a recipe."""


def by_recipe(*, default: Any = MISSING, group: str = RECIPE, **facts: Any) -> Any:
    """Return a field of a frozen dataclass whose value a recipe says, unless a flag does.

    Args:
        default: the value where neither does; without it every recipe that needs it must say it.
        facts: of `option`.
    """
    told = option(None, group=group, unsaid=default is MISSING, **facts)
    return field(default=default, metadata=told.metadata)


_update = partial(by_recipe, group=f"{RECIPE}, how weights change and which are saved")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Hyperparameters:
    """What training needs to know whatever its objective."""

    epochs: float = by_recipe(
        parse=not_negative,
        help="passes over the pairs, possibly a fraction; 0 saves the start unchanged",
    )
    min_steps: int = by_recipe(
        default=0,
        parse=at_least(0),
        help="make at least N steps, in as many passes as that takes",
    )
    batch_size: int = by_recipe(
        parse=at_least(2),
        help="pairs a step; a contrast tells each apart from the others, its negatives: more make "
        "that harder",
    )
    lr: float = by_recipe(
        parse=not_negative,
        help="learning rate of the encoder",
    )
    max_length: int = by_recipe(
        parse=at_least(4),
        help="cut responses to N tokens",
    )
    head_lr_multiplier: float = _update(
        parse=not_negative, help="learning rate of the head, as a multiple of the encoder's"
    )
    hold_weight: float = by_recipe(
        group="Teacher",
        default=0.0,
        parse=not_negative,
        help="as --teacher-weight, where --model is the teacher, of the texts of the pairs: keep "
        "them where it has them; 0: do not",
    )
    optimizer: str = _update(choices=OPTIMISERS, help="optimiser")
    schedule: str = _update(choices=SCHEDULES, help="learning-rate schedule")
    warmup: float = _update(
        metavar="SHARE", parse=share, help="share of the steps in which the rate rises"
    )
    weight_decay: float = _update(
        parse=not_negative, help="weight decay (none on biases and norms)"
    )
    clip: float = _update(parse=not_negative, help="clip gradients at this norm; 0: do not")
    freeze: int = _update(
        default=0, parse=at_least(0), help="do not train the embeddings and the first N layers"
    )
    ema: float = _update(
        default=0.0,
        metavar="DECAY",
        parse=share_below_one,
        help="save a moving average of the weights, which keeps min(DECAY, (1 + t) / (10 + t)) "
        "of itself at step t; 0 saves the last weights",
    )
    merge_with_start: float = _update(
        default=1.0,
        metavar="W",
        parse=fraction,
        help="save start + W (trained - start), with --model as the start; 1 saves the trained "
        "weights",
    )
    center: bool = _update(
        default=False,
        help="save a model that subtracts the mean of its vectors of the texts learnt from, as "
        "dialtools center does",
    )


def settled(kind: type[T], options: Any) -> T:
    """Return the values of a frozen dataclass as the options have them.

    Args:
        kind: dataclass of `by_recipe` fields.
        options: has an attribute for each field, None where it is unsaid.

    Raises:
        ConfigError: naming the key that neither a flag, nor the recipe, nor a default says.
    """
    values: dict[str, Any] = {}
    for each in fields(kind):
        value = getattr(options, each.name)
        if value is not None:
            values[each.name] = value
        elif each.default is MISSING:
            key = each.name.replace("_", "-")
            raise ConfigError(
                f"--{key} is not set",
                hint=f"recipe {options.method} does not say it for --objective {options.objective}",
            )
    return kind(**values)

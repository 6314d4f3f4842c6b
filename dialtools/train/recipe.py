"""Recipes: published hyper-parameters as TOML, with the same keys as the flags.

A recipe that `extends` another says only what differs from it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.errors import ConfigError, proposed
from dialtools.options import Layer
from dialtools.train.objectives.catalog import ALIGN_EPOCHS, OBJECTIVES, ObjectiveEntry
from dialtools.train.start import STATIC, TRANSFORMER, embeds_sentences, encoder_kind, is_table
from dialtools.values import TRUTH, whole_number

HOME = Path(__file__).parent / "recipes"
PRESETS = {
    STATIC: Path(__file__).parent / "static.toml",
    TRANSFORMER: Path(__file__).parent / "fresh.toml",
}
"""What trains an encoder in place of values of a recipe: any static one, a fresh transformer."""
NOTHING, TABLE = "nothing", "table"
STARTS = (NOTHING, TABLE, TRANSFORMER)
"""What an encoder may be made of: no model, a static one, a transformer."""
EXTENDS = "extends"
DEFAULT, HELD = "dse", "held"


PRESET_NAMES = {STATIC: "static encoder", TRANSFORMER: "fresh encoder"}


class Replaced(NamedTuple):
    """A value that a recipe publishes, and what a preset has instead."""

    published: Any
    preset: Any


def names() -> list[str]:
    """Return the recipes there are."""
    return sorted(path.stem for path in HOME.glob("*.toml"))


def recipe_layers(name: str) -> list[Layer]:
    """Return the values of a recipe, then those of the recipe that it extends, and so on.

    Raises:
        ConfigError: for a name that no recipe has, or one that extends itself.
    """
    layers: list[Layer] = []
    chain: list[str] = []
    source, wanted = "--method", name
    while wanted:
        if wanted in chain:
            raise ConfigError(f"recipe {name} extends itself: {' -> '.join([*chain, wanted])}")
        values = _read_recipe(wanted, source)
        chain.append(wanted)
        source = f"recipe {wanted}"
        wanted = values.pop(EXTENDS, None)
        layers.append(Layer(source, values))
    return layers


def _read_recipe(name: str, source: str) -> dict[str, Any]:
    """Return a recipe as it is written; `source` is what names it in an error."""
    if name not in names():  # a file of options may name a number
        raise ConfigError(
            f"{source}: unknown recipe {name!r}",
            hint=proposed(str(name), names()),
        )
    return _read(HOME / f"{name}.toml")


def _read(path: Path) -> dict[str, Any]:
    from dialtools.toml import read_toml  # help has no use for it

    return read_toml(path)


def published(name: str) -> dict[str, Any]:
    """Return all values of a recipe by TOML key, its own before those it extends."""
    values: dict[str, Any] = {}
    for layer in reversed(recipe_layers(name)):
        values |= layer.values
    return values


def preset(name: str, kind: str, model: Any) -> dict[str, Any]:
    """Return what trains an encoder in place of values of a recipe, by TOML key.

    Sections of a preset hold for recipes of one objective or loss, or for a start (`STARTS`).

    Args:
        kind: of the encoder.
        model: that it starts from, or None.
    """
    if model and kind == TRANSFORMER:
        return {}
    recipe = published(name)
    values = _read(PRESETS[kind])
    special: dict[str, Any] = {}
    for key in ("objective", "loss"):
        special |= values.pop(key, {}).get(recipe.get(key), {})
    sections = {start: values.pop(start, {}) for start in STARTS}
    start = NOTHING if not model else TABLE if is_table(str(model)) else TRANSFORMER
    return values | special | sections[start]


def layers(chosen: dict[str, Any]) -> list[Layer]:
    """Return the defaults under what was chosen: a recipe; over it the preset, without a model.

    Args:
        chosen: values of flags, variables and files, by TOML key.
    """
    method = chosen.get("method")
    objective = OBJECTIVES.get(str(chosen.get("objective")))  # a file may have a list there
    name = method or (objective.recipe if objective else usual(chosen))
    recipe = recipe_layers(name)
    own = {**recipe[0].values, "method": name}
    learns = objective or OBJECTIVES[published(name)["objective"]]
    kind = encoder_kind(chosen, contextual=learns.contextual)
    start = {"encoder": kind, **preset(name, kind, chosen.get("model"))}
    _heed_length(chosen, start, own)
    if chosen.get("teacher"):  # it says where texts belong, in place of the start
        start.pop("hold-weight", None)
        own.pop("hold-weight", None)
    defaults = [Layer(PRESET_NAMES[kind], start), Layer(recipe[0].name, own), *recipe[1:]]
    if TRUTH.get(str(chosen.get("align")).lower()):
        defaults.insert(0, Layer("--align", {"epochs": ALIGN_EPOCHS}))

    # One that --method names stays whole: what does not go with the objective is an error there.
    if method or not objective or published(name)["objective"] == chosen["objective"]:
        return defaults
    return [_borrowed(layer, objective) for layer in defaults]


def _heed_length(chosen: dict[str, Any], start: dict[str, Any], own: dict[str, Any]) -> None:
    """Take out of a preset and a recipe what passes that the user says are in place of.

    Where the user says a least number of steps, a recipe's own number is no smaller.
    """
    said = chosen.get("epochs") is not None
    if said:
        start.pop("min-steps", None)
        own.pop("min-steps", None)
    if said or "epochs" in start:
        own.pop("max-steps", None)
    if "max-steps" in own and (least := chosen.get("min-steps")):
        with suppress(ValueError):  # who reads it as an option says what is wrong
            own["max-steps"] = max(own["max-steps"], whole_number(str(least)))


def usual(chosen: dict[str, Any]) -> str:
    """Return the recipe where none is named: one that keeps what a start knows of sentences."""
    model = chosen.get("model")
    return HELD if isinstance(model, str) and embeds_sentences(model) else DEFAULT


def _borrowed(layer: Layer, objective: ObjectiveEntry) -> Layer:
    """Return the values of another objective's recipe without those that are its alone."""
    of_any = {each.name for entry in OBJECTIVES.values() for each in fields(entry.options)}
    alien = of_any - {each.name for each in fields(objective.options)}
    values = {k: v for k, v in layer.values.items() if k.replace("-", "_") not in alien}
    return Layer(layer.name, values)


def replaced(options: Any) -> dict[str, Replaced]:
    """Return what the preset of the encoder replaces of the recipe, by TOML key.

    Values that a flag or a file overrides are the user's, and not among them; --max-steps overrides
    the passes.

    Args:
        options: resolved TrainOptions.
    """
    recipe = published(options.method)
    values = preset(options.method, options.encoder, options.model)
    pairs = {
        key: Replaced(recipe[key], value)
        for key, value in values.items()
        if value != recipe.get(key, value) and getattr(options, key.replace("-", "_")) == value
    }
    epochs = pairs.pop("epochs", None)
    if epochs and options.max_steps is None:
        least = f", at least {options.min_steps} steps" * bool(options.min_steps)
        pairs["epochs"] = epochs._replace(preset=f"{epochs.preset}{least}")
    return pairs


def preset_note(options: Any) -> str:
    """Return one line on what the preset replaces of the recipe, empty if that is nothing."""
    values = [f"{key} {pair.preset}" for key, pair in replaced(options).items()]
    if not values:
        return ""
    kind = PRESET_NAMES[options.encoder]
    start = f"recipe {options.method} with a {kind}'s {', '.join(values)}"
    return f"{start} (--print-config shows all)"

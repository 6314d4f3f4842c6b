"""Recipes: published hyper-parameters as TOML, with the same keys as the flags."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from dialtools.errors import ConfigError, nearest
from dialtools.options import Layer
from dialtools.train.objectives.catalog import RECIPE_OF

HOME = Path(__file__).parent / "recipes"
FRESH = Path(__file__).parent / "fresh.toml"


def names() -> list[str]:
    """Return the recipes there are."""
    return sorted(path.stem for path in HOME.glob("*.toml"))


def load(name: str) -> Layer:
    """Return the values of a recipe.

    Raises:
        ConfigError: if there is none of that name.
    """
    if name not in names():
        raise ConfigError(
            f"--method: unknown recipe {name!r}",
            hint=nearest(name, names()) or f"choose from {', '.join(names())}",
        )
    return Layer(
        f"recipe {name}", tomllib.loads((HOME / f"{name}.toml").read_text(encoding="utf-8"))
    )


def layers(given: dict[str, Any]) -> list[Layer]:
    """Return the layers of defaults under what was given: without --model a preset for a fresh encoder, then the recipe.

    The preset's contrast stands in for DSE's only, which does not train from nothing; other methods
    keep their own.
    """
    name = given.get("method") or RECIPE_OF.get(given.get("objective") or "", "dse")
    recipe = load(name)
    recipe.values["method"] = name
    if given.get("model"):
        return [recipe]
    preset = tomllib.loads(FRESH.read_text(encoding="utf-8"))
    sections = {
        key: preset.pop(key) for key, value in list(preset.items()) if isinstance(value, dict)
    }
    objective = recipe.values["objective"]
    own = (
        sections.get(objective, {})
        if objective != "contrast" or recipe.values.get("loss") == "hard-negative"
        else {}
    )
    return [Layer("fresh encoder", preset | own), recipe]

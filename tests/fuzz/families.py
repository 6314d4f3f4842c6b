"""FAMILIES: every kind of case, and how often it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz import cases, flags, models, published
from fuzz.cases import Case

FAMILIES: dict[str, tuple[float, Callable[..., Case]]] = {
    "records": (40, cases.jsonl),
    "arrays": (6, cases.arrays),
    "tables": (10, cases.delimited),
    "columns": (12, cases.columns),
    "containers": (12, cases.container),
    "corpora": (12, published.corpora),
    "options": (12, flags.options),
    "configs": (5, flags.configs),
    "models": (3, models.models),
    "centred": (1, models.models),
    "weighed": (1, models.models),
    "suites": (2, models.suites),
    "statics": (2, models.statics),
    "vectors": (2, models.vectors),
    "merges": (2, models.merges),
}
"""How often each is drawn, and what draws it."""
MODELS = {
    "models": "model",
    "centred": "centred",
    "weighed": "weighed",
    "statics": "static",
    "merges": "static",
}
"""The tiny model that a family changes."""


def drawn_case(seed: str, number: int, model: Callable[[str], Path], only: str = "") -> Case:
    """Return the case of a number: the same for the same seed."""
    draw = Random(f"{seed}/{number}")
    shares = {name: share for name, (share, _) in FAMILIES.items() if only in ("", name)}
    family = draw.choices(list(shares), list(shares.values()))[0]
    make = FAMILIES[family][1]
    return make(draw, str(model(MODELS[family]))) if family in MODELS else make(draw)

"""What an embedding file tells of its making, and whether vectors of two files are of one space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson

from dialtools.errors import DataError
from dialtools.shown import quoted

SPACE = ("weights", "pooling", "head")
"""What files tell of the model, and must share for their cosines to mean something."""


def making(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return what an embedding file tells of its making; of a stranger's rubbish nothing."""
    try:
        facts = orjson.loads(metadata.get("dialtools", "{}"))
    except ValueError:
        return {}
    return cast(dict[str, Any], facts) if isinstance(facts, dict) else {}


def options_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that `making` tells; of a stranger's rubbish none."""
    options = facts.get("options")
    return cast(dict[str, Any], options) if isinstance(options, dict) else {}


def model_named(metadata: Mapping[str, str]) -> str | None:
    """Return the model whose vectors an embedding file holds, if it tells."""
    model = options_of(making(metadata)).get("model")
    return model if isinstance(model, str) else None


def one_space(known: dict[str, Any], metadata: Mapping[str, str], *, where: str) -> dict[str, Any]:
    """Return what is known of the model of some vectors, and of those of a file.

    Args:
        known: what this returned for those before; {} at first.
        metadata: of the file.

    Raises:
        DataError: if both tell, and not the same.
    """
    facts = {key: value for key, value in making(metadata).items() if key in SPACE}
    if facts:
        facts.setdefault("head", None)
    if any(known.get(key, value) != value for key, value in facts.items()):
        model = quoted(model_named(metadata) or "no name")
        message = f"its vectors are of another model, pooling or head ({model})"
        raise DataError(message, where=where, hint="vectors are compared within one space")
    return {**facts, **known}

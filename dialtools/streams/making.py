"""What an embedding file tells of its making, and whether vectors of two files are of one space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson

from dialtools.errors import DataError
from dialtools.shown import quoted

SPACE = ("weights", "pooling", "head")
"""What files tell of the model, and must share for their cosines to mean something."""
FITTED = "fitted"
"""Beside these: by what vectors were transformed."""
KIND = "transform_kind"
"""What kind of transform a run applied, be it by a file of one."""
ONE_SIDED = "one_sided"
"""Whether that moved contexts alone, so that they are compared with responses as they are."""
MOVED = "moved"
"""By what contexts were moved, if they were."""
COMPRESS = "compress"
"""The weight of templates that texts are mixed with; 0, of what is not mixed."""


def making(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return what an embedding file tells of its making; of a stranger's rubbish nothing."""
    try:
        return _table(orjson.loads(metadata.get("dialtools", "{}")))
    except ValueError:
        return {}


def options_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that `making` tells; of a stranger's rubbish none."""
    return _table(facts.get("options"))


def _table(told: Any) -> dict[str, Any]:
    return cast(dict[str, Any], told) if isinstance(told, dict) else {}


def model_named(metadata: Mapping[str, str]) -> str | None:
    """Return the model whose vectors an embedding file holds, if it tells."""
    model = options_of(making(metadata)).get("model")
    return model if isinstance(model, str) else None


def one_space(known: dict[str, Any], metadata: Mapping[str, str], *, where: str) -> dict[str, Any]:
    """Return the facts known of the model of some vectors, with those that a file tells.

    Args:
        known: what this returned for those before; {} at first.
        metadata: of the file.

    Raises:
        DataError: if both tell, and not the same.
    """
    told = making(metadata)
    facts = {key: value for key, value in told.items() if key in SPACE}
    if not facts:
        return known
    facts |= {"head": facts.get("head")}
    if any(known.get(key, facts[key]) != facts[key] for key in facts):
        model = quoted(model_named(metadata) or "no name")
        message = f"its vectors are of another model, pooling or head ({model})"
        raise DataError(message, where=where, hint="vectors are compared within one space")
    facts[COMPRESS] = told.get(COMPRESS, options_of(told).get(COMPRESS)) or 0
    if (before := known.get(COMPRESS, facts[COMPRESS])) != facts[COMPRESS]:
        own = f"--compress {facts[COMPRESS]}, not {before}"
        raise DataError(f"its vectors were mixed with templates otherwise: {own}", where=where)
    fitted, moved = _transforms(told)
    hint = "--save-transform keeps what was fitted to some, --transform FILE does it to others"
    if _differ(known.get(FITTED, fitted), fitted):
        raise DataError("its vectors were transformed otherwise", where=where, hint=hint)
    if moved and _differ(known.get(MOVED) or moved, moved):
        raise DataError("its contexts were moved otherwise", where=where, hint=hint)
    return {**facts, FITTED: fitted, **known, MOVED: known.get(MOVED) or moved}


def _transforms(facts: Mapping[str, Any]) -> tuple[list[str] | None, list[str] | None]:
    """Return what all vectors were transformed by, and what contexts alone.

    Each is kind, where that comes from, and its digest; None is as the model made them.
    """
    kept = _kept(facts.get(FITTED)), _kept(facts.get(MOVED))  # of examples, in a router
    if any(kept):
        return kept
    told = _told(facts)
    return (None, told) if facts.get(ONE_SIDED) else (told, None)


def _kept(told: Any) -> list[str] | None:
    if not isinstance(told, list) or len(cast(list[Any], told)) != 3:
        return None
    return [str(part) for part in cast(list[Any], told)]


def _told(facts: Mapping[str, Any]) -> list[str] | None:
    transform = options_of(facts).get("transform")
    if not transform:
        return None
    files = _table(facts.get("files"))
    if "transform" in files:
        return [str(facts.get(KIND, "")), "transform", _digests(files["transform"])]
    source = "fit-on" if "fit-on" in files else "input"
    return [str(transform), source, _digests(files.get("fit-on", facts.get("inputs")))]


def _digests(told: Any) -> str:
    """Return the digests of a file, or of several, whatever they are called."""
    files = cast(list[Any], told) if isinstance(told, list) else [told]
    known = (cast(dict[str, Any], file) for file in files if isinstance(file, dict))
    return " ".join(str(file.get("sha256")) for file in known)


def _differ(one: list[str] | None, other: list[str] | None) -> bool:
    """Tell whether two transforms are known to differ: a file may be of a fit of its kind."""
    if one is None or other is None:
        return one is not other
    kinds = {one[0], other[0]} - {""}
    return len(kinds) > 1 or (one[1] == other[1] and one[2] != other[2])

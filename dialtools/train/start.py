"""Which kind of encoder a run trains: a table of vectors, or a transformer. Loads no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialtools.errors import ModelError

STATIC, TRANSFORMER = "static", "transformer"
KINDS = (STATIC, TRANSFORMER)


def encoder_kind(chosen: Mapping[str, Any], *, contextual: bool) -> str:
    """Return what is chosen; else what --model is; else what learns in minutes.

    Args:
        chosen: values of options by TOML key.
        contextual: words are learnt in their context, which a static encoder does not see.
    """
    if chosen.get("encoder") in KINDS:  # what is none is told where options are read
        return chosen["encoder"]
    if isinstance(chosen.get("model"), str) and chosen["model"]:
        return STATIC if is_table(chosen["model"]) else TRANSFORMER
    return TRANSFORMER if contextual or chosen.get("layers") else STATIC


def embeds_sentences(model: str) -> bool:
    """Tell whether a model is a folder of sentence-transformers: a transformer, and its pooling.

    One of ours that has learnt masked words is, too, but not sentences.
    """
    if not model or is_table(model):
        return False
    from dialtools.encoder.folder import model_folder
    from dialtools.encoder.sidefile import SideFile

    try:
        folder = model_folder(model)
        ours = SideFile.read(folder / "dialtools.json").tables("options")
        return (folder / "modules.json").is_file() and ours.text("objective") != "mlm"
    except ModelError:  # told where it is loaded
        return False


def is_table(model: str) -> bool:
    """Tell whether a model is a static encoder, or a file of word vectors; what is none is not."""
    from dialtools.encoder.folder import model_folder  # a name in the hub's cache has one, too
    from dialtools.encoder.stated import is_static

    try:
        return Path(model).is_file() or is_static(model_folder(model))
    except ModelError:  # told where it is loaded
        return False

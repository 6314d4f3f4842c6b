"""The model directory that dialtools, transformers and sentence-transformers read alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dialtools import __version__
from dialtools.encoder.catalog import POOLINGS
from dialtools.encoder.center import write_center
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.layered import beside_pooling
from dialtools.encoder.sidefile import write_json
from dialtools.encoder.stated import (
    CENTRED,
    LAYERS,
    OLD_POOLING_KEYS,
    POOLER,
    STATIC,
    THEIR_NAMES,
    USAGE,
    WORD_WEIGHTS,
    plain,
)
from dialtools.encoder.static import StaticEncoder, save_static
from dialtools.encoder.token_weights import write_token_weights
from dialtools.encoder.tokens import save_tokenizer

NORMALIZE = "2_Normalize"
"""Folder of a static encoder's step; it holds nothing."""


def save(encoder: Encoder, directory: Path, *, provenance: dict[str, Any], card: str) -> None:
    """Write weights, tokenizer, pooling, length, provenance (dialtools.json) and card.

    Args:
        directory: exists and is empty; wrap it in `atomic_directory`.
    """
    modules = _modules(encoder)
    listed = list(modules.items())
    if encoder.center is not None:
        listed += [(kind, f"{len(listed) + n}_{kind}") for n, kind in enumerate(CENTRED[1:])]
    for _, folder in listed:
        (directory / folder).mkdir(exist_ok=True)
    if isinstance(encoder, StaticEncoder):
        save_static(encoder, directory)
    else:
        _save_transformer(encoder, directory, modules)
    if encoder.center is not None:
        write_center(encoder.center, directory / listed[-2][1])
    write_json(directory / "modules.json", _listed(listed))
    write_json(directory / USAGE, {"similarity_fn_name": "cosine", "prompts": {}})
    facts = {"version": __version__, "pooling": encoder.pooling, **provenance}
    write_json(directory / "dialtools.json", facts)
    (directory / "README.md").write_text(card, encoding="utf-8")


def _save_transformer(encoder: Encoder, directory: Path, modules: dict[str, str]) -> None:
    """Write weights, tokenizer, length and pooling; the folders of the modules are there."""
    from safetensors.torch import save_file

    encoder.backbone.config.output_hidden_states = LAYERS in modules
    encoder.backbone.save_pretrained(directory, safe_serialization=True)
    save_tokenizer(encoder.tokenizer, directory)
    limits = {"max_seq_length": encoder.max_length, "do_lower_case": encoder.lower_case}
    write_json(directory / "sentence_bert_config.json", limits)
    write_json(directory / modules["Pooling"] / "config.json", _pooling(encoder))
    for kind, config, tensors in beside_pooling(encoder):
        write_json(directory / modules[kind] / "config.json", config)
        save_file(tensors, directory / modules[kind] / WEIGHTS)
    if encoder.token_weights is not None:
        folder = directory / modules[WORD_WEIGHTS]
        write_token_weights(encoder.token_weights, encoder.tokenizer, folder)


def _modules(encoder: Encoder) -> dict[str, str]:
    """Return the steps from a text to its vector and the folder of each."""
    normalize = encoder.normalize or encoder.center is not None
    if isinstance(encoder, StaticEncoder):
        return {STATIC: "", **({"Normalize": NORMALIZE} if normalize else {})}
    pooling = POOLINGS[encoder.pooling]
    steps = {
        "Transformer": True,
        LAYERS: bool(pooling.layers),
        WORD_WEIGHTS: encoder.token_weights is not None,
        "Pooling": True,
        POOLER: pooling.pooler,
        "Normalize": normalize,
    }
    kinds = [kind for kind, taken in steps.items() if taken]
    # readers that know of a 1_Pooling alone find none where layers are averaged first
    return {kind: f"{number}_{kind}" if number else "" for number, kind in enumerate(kinds)}


def _listed(modules: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the steps as sentence-transformers lists them."""
    return [
        {
            "idx": number,
            "name": str(number),
            "path": path,
            "type": f"sentence_transformers.models.{kind}",
        }
        for number, (kind, path) in enumerate(modules)
    ]


def _pooling(encoder: Encoder) -> dict[str, Any]:
    """Return the pooling for old readers (booleans) and new ones (a name): either loads both."""
    simple = plain(encoder.pooling)
    flags = {key: name == simple for key, name in OLD_POOLING_KEYS.items()}
    return {
        "word_embedding_dimension": encoder.dimension,
        "pooling_mode": THEIR_NAMES.get(simple, simple),
        **flags,
    }

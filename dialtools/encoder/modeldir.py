"""The model directory that dialtools, transformers and sentence-transformers read alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dialtools import __version__
from dialtools.encoder.encoder import OLD_POOLING_KEYS, Encoder

MODULES = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}


def save(encoder: Encoder, directory: Path, *, provenance: dict[str, Any], card: str) -> None:
    """Write weights, tokenizer, pooling, length, provenance (dialtools.json) and card.

    Args:
        directory: exists and is empty; wrap it in `atomic_directory`.
    """
    encoder.backbone.save_pretrained(directory, safe_serialization=True)
    encoder.tokenizer.save_pretrained(directory)
    paths = [p for p in MODULES if p != "2_Normalize" or encoder.normalize]
    modules = [
        {"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{MODULES[p]}"}
        for i, p in enumerate(paths)
    ]
    _write(directory / "modules.json", modules)
    _write(
        directory / "sentence_bert_config.json",
        {"max_seq_length": encoder.max_length, "do_lower_case": False},
    )
    _write(
        directory / "config_sentence_transformers.json",
        {"similarity_fn_name": "cosine", "prompts": {}},
    )
    (directory / "1_Pooling").mkdir()
    _write(directory / "1_Pooling" / "config.json", _pooling(encoder))
    if encoder.normalize:
        (directory / "2_Normalize").mkdir()
    _write(directory / "dialtools.json", {"version": __version__, **provenance})
    (directory / "README.md").write_text(card, encoding="utf-8")
    for weights in directory.glob("*.safetensors"):  # safetensors gives 0600, whatever the umask
        weights.chmod((directory / "README.md").stat().st_mode)


def _pooling(encoder: Encoder) -> dict[str, Any]:
    """Old readers need the booleans, new ones the name; both together load in either."""
    flags = {key: name == encoder.pooling for key, name in OLD_POOLING_KEYS.items()}
    return {
        "word_embedding_dimension": encoder.dimension,
        "pooling_mode": _st_name(encoder.pooling),
        **flags,
    }


def _st_name(pooling: str) -> str:
    return {"last": "lasttoken"}.get(pooling, pooling)


def _write(path: Path, value: Any) -> None:
    path.write_text(
        json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n", encoding="utf-8"
    )

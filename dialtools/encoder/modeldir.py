"""The model directory that dialtools, transformers and sentence-transformers read alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dialtools import __version__
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.stated import OLD_POOLING_KEYS, STATIC, THEIR_NAMES
from dialtools.encoder.static import StaticEncoder
from dialtools.encoder.static_files import save_static

MODULES = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
"""What sentence-transformers runs through, by folder; the last only of models that normalise."""
STATIC_MODULES = {"": STATIC, "2_Normalize": "Normalize"}
"""And of a static encoder."""


def save(encoder: Encoder, directory: Path, *, provenance: dict[str, Any], card: str) -> None:
    """Write weights, tokenizer, pooling, length, provenance (dialtools.json) and card.

    Args:
        directory: exists and is empty; wrap it in `atomic_directory`.
    """
    usage = {"similarity_fn_name": "cosine", "prompts": {}}
    if isinstance(encoder, StaticEncoder):
        save_static(encoder, directory)
    else:
        _save_transformer(encoder, directory)
    _write(directory / "modules.json", _modules(encoder))
    _write(directory / "config_sentence_transformers.json", usage)
    if encoder.normalize:
        (directory / "2_Normalize").mkdir()
    _write(directory / "dialtools.json", {"version": __version__, **provenance})
    (directory / "README.md").write_text(card, encoding="utf-8")
    for weights in directory.glob("*.safetensors"):  # safetensors gives 0600, whatever the umask
        weights.chmod((directory / "README.md").stat().st_mode)


def _save_transformer(encoder: Encoder, directory: Path) -> None:
    """Write weights, tokenizer, length and pooling."""
    encoder.backbone.save_pretrained(directory, safe_serialization=True)
    encoder.tokenizer.save_pretrained(directory)
    limits = {"max_seq_length": encoder.max_length, "do_lower_case": encoder.lower_case}
    _write(directory / "sentence_bert_config.json", limits)
    (directory / "1_Pooling").mkdir()
    _write(directory / "1_Pooling" / "config.json", _pooling(encoder))


def _modules(encoder: Encoder) -> list[dict[str, Any]]:
    """Return the steps from a text to its vector, as sentence-transformers lists them."""
    modules = STATIC_MODULES if isinstance(encoder, StaticEncoder) else MODULES
    paths = [path for path in modules if path != "2_Normalize" or encoder.normalize]
    return [
        {
            "idx": number,
            "name": str(number),
            "path": path,
            "type": f"sentence_transformers.models.{modules[path]}",
        }
        for number, path in enumerate(paths)
    ]


def _pooling(encoder: Encoder) -> dict[str, Any]:
    """Return the pooling for old readers (booleans) and new ones (a name): either loads both."""
    flags = {key: name == encoder.pooling for key, name in OLD_POOLING_KEYS.items()}
    return {
        "word_embedding_dimension": encoder.dimension,
        "pooling_mode": THEIR_NAMES.get(encoder.pooling, encoder.pooling),
        **flags,
    }


def _write(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    path.write_text(f"{text}\n", encoding="utf-8")

"""Files of a static encoder, as sentence-transformers (StaticEmbedding) and model2vec have them.

`model.safetensors` holds the vectors, as `embeddings` (ours, model2vec's) or `embedding.weight`;
beside them may stand `earlier`, those of tokens in turns before the newest, which others pass over;
model2vec's may have one vector for several tokens (`mapping`) and weights of tokens (`weights`).
`tokenizer.json` is the tokenizer; what comes around a text does not count.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dialtools.encoder.pretrained import check_tokenizer, quiet_transformers
from dialtools.encoder.static import StaticEncoder
from dialtools.encoder.weights import read_tensors, shape_of
from dialtools.errors import ModelError
from dialtools.shown import first_line

WEIGHTS = "model.safetensors"
OURS = "embeddings"
EARLIER = "earlier"
NAMES = (OURS, "embedding.weight")
TOKENIZER = "tokenizer.json"


def read_static(folder: Path) -> StaticEncoder:
    """Return the static encoder of a folder.

    Raises:
        ModelError: if it is not there, damaged, or its files do not belong together.
    """
    path = folder / WEIGHTS
    tensors = read_tensors(path)
    vectors_VD, earlier_VD = _folded(tensors, path), tensors.get(EARLIER)
    if earlier_VD is not None:
        if earlier_VD.shape != vectors_VD.shape:
            expected, got = shape_of(vectors_VD.shape), shape_of(earlier_VD.shape)
            raise ModelError(f"{EARLIER}: expected {expected} numbers, got {got}", where=path)
        earlier_VD = _numbers(earlier_VD, EARLIER, path)
    tokenizer = _tokenizer(folder / TOKENIZER)
    check_tokenizer(tokenizer, len(vectors_VD), folder)
    return StaticEncoder(vectors_VD, tokenizer, earlier_VD=earlier_VD)


def save_static(encoder: StaticEncoder, folder: Path) -> None:
    """Write vectors, tokenizer, and model2vec's config.json into a folder that exists."""
    from safetensors.torch import save_file

    tables = {OURS: encoder.backbone.embedding, EARLIER: encoder.backbone.earlier}
    tensors = {
        name: table.weight.cpu().contiguous() for name, table in tables.items() if table is not None
    }
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    encoder.tokenizer.save_pretrained(folder)
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": encoder.dimension,
        "embedding_dtype": "float32",
        "normalize": encoder.normalize,
        "seq_length": 1_000_000,
    }
    (folder / "config.json").write_text(f"{json.dumps(config, indent=2)}\n", encoding="utf-8")


def _folded(tensors: dict[str, Tensor], where: Path) -> Tensor:
    """Return the vector of each token."""
    name = next((name for name in NAMES if name in tensors), None)
    if name is None:
        raise ModelError(f"no {' or '.join(NAMES)} in it", where=where)
    vectors = _numbers(tensors[name], name, where)
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    if mapping is not None:
        whole = mapping.ndim == 1 and not mapping.is_floating_point() and mapping.numel()
        if not whole or int(mapping.min()) < 0 or int(mapping.max()) >= len(vectors):
            raise ModelError(f"mapping: expected rows of {name}", where=where)
        vectors = vectors[mapping.long()]
    if weights is not None:
        if weights.shape != vectors.shape[:1]:
            raise ModelError(
                f"weights: expected a number a token, got {_told(weights)}", where=where
            )
        vectors = vectors * weights.float()[:, None]
    if not torch.isfinite(vectors).all():
        raise ModelError(f"{name}: not all are finite", where=where)
    return vectors


def _numbers(vectors: Tensor, name: str, where: Path) -> Tensor:
    """Return rows of numbers as float32."""
    if vectors.ndim != 2 or not vectors.is_floating_point() or not vectors.numel():
        raise ModelError(f"{name}: expected rows of numbers, got {_told(vectors)}", where=where)
    if not torch.isfinite(vectors).all():
        raise ModelError(f"{name}: not all are finite", where=where)
    return vectors.float()


def _told(tensor: Tensor) -> str:
    """Return what a tensor is, in a few words."""
    return f"{shape_of(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"


def _tokenizer(path: Path) -> Any:
    quiet_transformers()
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    try:
        return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_file(str(path)))
    except Exception as error:  # whatever tokenizers raises
        raise ModelError(f"not a tokenizer: {first_line(error)}", where=path) from None

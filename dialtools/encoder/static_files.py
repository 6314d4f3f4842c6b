"""Files of a static encoder, as sentence-transformers (StaticEmbedding) and model2vec have them.

`model.safetensors` holds the vectors, as `embeddings` (ours, model2vec's) or `embedding.weight`;
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
NAMES = (OURS, "embedding.weight")
TOKENIZER = "tokenizer.json"


def read_static(folder: Path) -> tuple[Tensor, Any]:
    """Return (V, D) float32 vectors and the tokenizer of a static encoder.

    Raises:
        ModelError: if they are not there, damaged, or do not belong together.
    """
    vectors_VD = _folded(read_tensors(folder / WEIGHTS), folder / WEIGHTS)
    tokenizer = _tokenizer(folder / TOKENIZER)
    check_tokenizer(tokenizer, len(vectors_VD), folder)
    return vectors_VD, tokenizer


def save_static(encoder: StaticEncoder, folder: Path) -> None:
    """Write vectors, tokenizer, and model2vec's config.json into a folder that exists."""
    from safetensors.torch import save_file

    vectors_VD = encoder.backbone.embedding.weight.detach().cpu().contiguous()
    save_file({OURS: vectors_VD}, folder / WEIGHTS, metadata={"format": "pt"})
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
    vectors = tensors[name]
    if vectors.ndim != 2 or not vectors.is_floating_point() or not vectors.numel():
        raise ModelError(f"{name}: expected rows of numbers, got {_told(vectors)}", where=where)
    vectors = vectors.float()
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

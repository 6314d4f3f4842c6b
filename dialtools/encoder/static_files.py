"""Static encoders to train: from their files, and to them (`token_vectors` tells of these)."""

from __future__ import annotations

from pathlib import Path

import torch

from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.pretrained import quiet_transformers
from dialtools.encoder.sidefile import write_json
from dialtools.encoder.static import StaticEncoder
from dialtools.encoder.token_vectors import EARLIER, OURS, TokenVectors
from dialtools.encoder.tokens import save_tokenizer


def trainable(encoder: TokenVectors) -> StaticEncoder:
    """Return the same encoder in torch."""
    quiet_transformers()
    from transformers import PreTrainedTokenizerFast

    static = StaticEncoder(
        torch.from_numpy(encoder.vectors),
        PreTrainedTokenizerFast(tokenizer_object=encoder.tokenizer),
        earlier_VD=None if encoder.earlier is None else torch.from_numpy(encoder.earlier),
        normalize=encoder.normalize,
    )
    static.max_length = encoder.max_length
    static.center = encoder.center
    return static


def save_static(encoder: StaticEncoder, folder: Path) -> None:
    """Write vectors, tokenizer, and model2vec's config.json into a folder that exists."""
    from safetensors.torch import save_file

    tables = {OURS: encoder.backbone.embedding, EARLIER: encoder.backbone.earlier}
    tensors = {
        name: table.weight.cpu().contiguous() for name, table in tables.items() if table is not None
    }
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    save_tokenizer(encoder.tokenizer, folder)
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": encoder.dimension,
        "embedding_dtype": "float32",
        "normalize": encoder.normalize,
        "seq_length": 1_000_000,
    }
    write_json(folder / "config.json", config)

"""Weights of tokens: how much each counts in the average that is a text's vector.

In the model's folder they are sentence-transformers' module `WordWeights` before `Pooling`, so that
others embed alike. V tokens, N texts of T tokens at most, D dimensions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.stated import BY_HAND
from dialtools.encoder.weights import read_tensors
from dialtools.errors import ModelError

TENSOR = "emb_layer.weight"


def by_rarity(counts_V: np.ndarray, half_at: float) -> Tensor:
    """Return (V,) float32 weights: a / (a + p), of a token that is the share p of all.

    Smooth inverse frequency (Arora, Liang and Ma 2017, section 3), of tokens in place of words.

    Args:
        counts_V: how often each occurs.
        half_at: a, the share at which a token weighs one half.
    """
    share_V = counts_V / max(1, counts_V.sum())
    return torch.from_numpy(half_at / (half_at + share_V)).float()


def scaled(tokens_NTD: Tensor, weights_NT: Tensor) -> Tensor:
    """Return (N, T, D) token vectors times weights, so that their plain mean is the weighted one.

    Args:
        weights_NT: above 0 on the tokens of a text, which are one at least, and 0 on padding.
    """
    sizes_N1 = (weights_NT > 0).sum(1, keepdim=True)
    scale_NT = weights_NT * sizes_N1 / weights_NT.sum(1, keepdim=True)
    return tokens_NTD * scale_NT[..., None]


def read_token_weights(folder: Path, *, tokens: int) -> Tensor:
    """Return the (V,) float32 weights of a model from the folder of its module.

    Args:
        tokens: that its tokenizer knows.

    Raises:
        ModelError: if the module is damaged, or of another tokenizer.
    """
    tensors = read_tensors(folder / WEIGHTS)
    weights_V1 = tensors.get(TENSOR)
    if tensors.keys() != {TENSOR} or weights_V1 is None or weights_V1.shape[1:] != (1,):
        raise ModelError(f"expected one tensor, {TENSOR}, of one column", where=folder / WEIGHTS)
    if not weights_V1.is_floating_point():
        raise ModelError(f"{TENSOR}: expected decimals", where=folder / WEIGHTS)
    weights_V = weights_V1[:, 0].float()
    if len(weights_V) < tokens:
        message = f"weights of {len(weights_V):,} tokens, but the tokenizer knows {tokens:,}"
        raise ModelError(message, where=folder / WEIGHTS, hint=BY_HAND)
    if not bool((weights_V.isfinite() & (weights_V > 0)).all()):
        message = "weights of tokens that are not above zero"
        raise ModelError(message, where=folder / WEIGHTS, hint=BY_HAND)
    return weights_V


def write_token_weights(weights_V: Tensor, tokenizer: Any, folder: Path) -> None:
    """Write the module into a folder that exists."""
    from safetensors.torch import save_file

    weights_V = weights_V.cpu()
    names: list[str] = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    names += [f"[no token {number}]" for number in range(len(names), len(weights_V))]
    config = {
        "vocab": names,
        "word_weights": dict(zip(names, weights_V.tolist(), strict=True)),
        "unknown_word_weight": 1,
    }
    text = json.dumps(config, ensure_ascii=False)
    (folder / "config.json").write_text(f"{text}\n", encoding="utf-8")
    save_file({TENSOR: weights_V[:, None]}, folder / WEIGHTS, {"format": "pt"})

"""Texts laid end to end, without padding: the same vectors of fewer tokens.

Whether a model's layers allow it is found by trying: positions, windows and biases differ, and no
list of models would be complete. N texts of W tokens at most, T tokens in all, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dialtools.encoder.batches import pad
from dialtools.encoder.device import autocast, moved
from dialtools.encoder.packed_attention import Layout, attention, laid_out
from dialtools.encoder.randomness import seeded

NAME = "dialtools_packed"
"""Of our attention, among those of transformers; it is never written to a config.json."""
SIZES = (2, 7, 200)
"""Tokens of the texts on which a model is tried; the longest is beyond usual windows."""
SHORT = (2, 7, 18, 100)
"""Of those on which a block is tried."""
NEAR = {"float32": 1e-5, "bfloat16": 0.1}
"""How far a vector may be from that of the padded text, as a part of its length, in a precision."""


def states_of(
    backbone: Callable[..., Any],
    batch: tuple[Tensor, Tensor],
    device: torch.device,
    *,
    first: int,
    **options: bool,
) -> Any:
    """Return a backbone's states of a batch, computed without its padding.

    Args:
        batch: (N, W) ids and mask.
        device: the backbone's.
        first: the position of a text's first token.

    Returns:
        its output, with (N, W, D) states as of a padded batch.
    """
    ids_NT, mask_NT = batch
    layout = Layout.of(mask_NT, in_blocks=device.type == "cuda")
    ids_1T = moved(ids_NT.flatten()[layout.place][None], device)
    layout = layout.to(device)
    with laid_out(layout):
        states = backbone(input_ids=ids_1T, position_ids=layout.position[None] + first, **options)
    states.last_hidden_state = layout.padded(states.last_hidden_state)
    if states.get("hidden_states"):
        states.hidden_states = tuple(map(layout.padded, states.hidden_states))
    return states


def pack(encoder: Any, precision: str) -> bool:
    """Let an encoder leave out padding from now on, if it gives the same vectors; tell whether.

    It is tried as it stands, in training with its dropout. Positions, windows and biases show in 32
    bits, where no rounding hides them; the kernel after.
    """
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, attention)
    trials = [_trial(encoder, SIZES)]
    if encoder.device.type == "cuda":
        trials.append(_trial(encoder, SHORT))
    precisions = dict.fromkeys(("float32", precision))
    if not all(_same(encoder, trial, name) for trial in trials for name in precisions):
        return False
    encoder.backbone.config._attn_implementation = NAME
    return True


def _same(encoder: Any, trial: tuple[Tensor, Tensor], precision: str) -> bool:
    """Tell whether vectors in a precision are the same without padding."""
    config = encoder.backbone.config
    usual = config._attn_implementation
    with seeded(0, encoder.device), autocast(encoder.device, precision):
        expected_ND = _vectors(encoder, trial)
        config._attn_implementation = NAME
        try:
            with torch.set_grad_enabled(encoder.training):
                encoder(*trial)  # with dropout, no two runs agree
            found_ND = _vectors(encoder, trial)
        except Exception:  # whatever a model that knows nothing of it raises
            return False
        finally:
            config._attn_implementation = usual
    error_N = (found_ND - expected_ND).norm(dim=1) / expected_ND.norm(dim=1)
    return bool((error_N < NEAR[precision]).all())


def _trial(encoder: Any, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return ids and mask of texts of several lengths."""
    words = encoder.backbone.get_input_embeddings().num_embeddings
    sizes = [min(size, encoder.positions) for size in sizes]
    padding = {encoder.special.pad, getattr(encoder.backbone.config, "pad_token_id", None)}
    known = np.array([word for word in range(words) if word not in padding])
    rows = [known[np.arange(size) * 7919 % len(known)] for size in sizes]
    return pad(rows, encoder.special)


def _vectors(encoder: Any, batch: tuple[Tensor, Tensor]) -> Tensor:
    """Return (N, D) vectors without dropout."""
    was_training = encoder.training
    encoder.eval()
    with torch.inference_mode():
        vectors_ND = encoder(*batch)
    encoder.train(was_training)
    return vectors_ND

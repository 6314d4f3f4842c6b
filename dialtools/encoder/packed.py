"""Texts laid end to end, without padding: the same vectors of fewer tokens, on a GPU.

Attention has to stay within each text. torch's kernel for texts of many lengths sees to that, or
flash-attn's where it is installed, which alone knows dropout. Whether a model's layers allow it is
found by trying: positions, windows and biases differ, and no list of models would be complete.
N texts of W tokens at most, T tokens in all, H heads of D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.batches import pad
from dialtools.encoder.device import autocast
from dialtools.encoder.randomness import seeded

NAME = "dialtools_packed"
"""Of our attention, among those of transformers; it is never written to a config.json."""
HALF = (torch.float16, torch.bfloat16)
WHOLE = (-1, -1)
"""The window of tokens on the left and on the right that see no end but the text's."""
UNKNOWN = ("position_bias", "softcap", "s_aux", "cache")
"""What attention may be asked for besides, and ours cannot."""


SIZES = (2, 7, 200)
"""Tokens of the texts on which a model is tried; the longest is beyond usual windows."""
NEAR = {"float32": 1e-5, "bfloat16": 0.1}
"""How far a vector may be from that of the padded text, as a part of its length, in a precision."""


class Layout(NamedTuple):
    """Where tokens stand in a padded batch, and without its padding.

    Attributes:
        shape: (N, W) of the padded batch.
        place: of each token in it, row after row.
        position: of each token in its own text, from 0 on.
        ends: (N + 1,) int32, 0 and where each text ends.
    """

    shape: tuple[int, int]
    place: Tensor
    position: Tensor
    ends: Tensor

    @classmethod
    def of(cls, mask_NT: Tensor) -> Layout:
        """Return the layout of a batch that is padded on the right.

        Of a mask on a GPU that waits for the GPU, so it had better be on the CPU still.
        """
        count, width = mask_NT.shape
        place = mask_NT.flatten().nonzero()[:, 0]
        ends = nn.functional.pad(mask_NT.sum(1).cumsum(0), (1, 0)).to(torch.int32)
        return cls((count, width), place, place % width, ends)

    def to(self, device: torch.device) -> Layout:
        """Return it on a device; from pinned memory nothing waits for the copy."""
        tensors = (moved(tensor, device) for tensor in self[1:])
        return Layout(self.shape, *tensors)

    def padded(self, states_1TD: Tensor) -> Tensor:
        """Return (N, W, D) states of tokens at their places in the batch, zeros at the others."""
        count, width = self.shape
        dimension = states_1TD.shape[-1]
        rows = states_1TD.new_zeros(count * width, dimension)
        return rows.index_copy(0, self.place, states_1TD[0]).view(count, width, dimension)


_layout: ContextVar[Layout] = ContextVar("layout")


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor on a device; a GPU is not waited for."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def where(states_NTD: Tensor, mask_NT: Tensor) -> Tensor:
    """Return (M, D) the states where a mask is true; of one on the CPU no GPU is waited for."""
    places = moved(mask_NT.flatten().nonzero()[:, 0], states_NTD.device)
    return states_NTD.flatten(0, 1)[places]


def states_of(
    backbone: Any, ids_NT: Tensor, mask_NT: Tensor, *, first: int, **options: bool
) -> Any:
    """Return a backbone's states of a batch, computed without its padding.

    Args:
        first: the position of a text's first token.

    Returns:
        its output, with (N, W, D) states as of a padded batch.
    """
    device = backbone.device
    layout = Layout.of(mask_NT)
    ids_1T = moved(ids_NT.flatten()[layout.place][None], device)
    layout = layout.to(device)
    with _laid_out(layout):
        states = backbone(input_ids=ids_1T, position_ids=layout.position[None] + first, **options)
    states.last_hidden_state = layout.padded(states.last_hidden_state)
    if states.get("hidden_states"):
        states.hidden_states = tuple(map(layout.padded, states.hidden_states))
    return states


@contextmanager
def _laid_out(layout: Layout) -> Iterator[None]:
    token = _layout.set(layout)
    try:
        yield
    finally:
        _layout.reset(token)


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Return (1, T, H, D) of (1, H, T, D), within each text of the layout; as transformers asks it.

    Raises:
        NotImplementedError: for what it cannot do.
    """
    odd = [name for name in UNKNOWN if others.get(name) is not None]
    if odd or attention_mask is not None or len(query) != 1:
        raise NotImplementedError(f"packed attention with {', '.join(odd) or 'a mask'}")
    causal = bool(getattr(module, "is_causal", False) if is_causal is None else is_causal)
    reach = -1 if sliding_window is None else sliding_window - 1
    window = (reach, 0 if causal else reach)
    # rotary positions may have made numbers of 32 bits of the two that they turn
    tokens = [x[0].transpose(0, 1).to(value.dtype) for x in (query, key, value)]
    return _kernel(value, dropout)(*tokens, _layout.get(), window, scaling, dropout)[None], None


def _kernel(value: Tensor, dropout: float) -> Any:
    """Return what computes attention: a GPU's kernel, which is for 16 bits, or the slow way.

    Raises:
        NotImplementedError: if the GPU has none for this.
    """
    if value.device.type != "cuda" or value.dtype not in HALF:
        return one_by_one
    if _flash_attn():
        return _by_flash_attn
    if dropout:
        raise NotImplementedError("packed attention with dropout, without flash-attn")
    return _by_torch


def _by_torch(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: Layout,
    window: tuple[int, int],
    scale: float | None,
    dropout: float,
) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    longest = layout.shape[1]
    attended = varlen_attn(
        query.contiguous(),
        key.contiguous(),
        value.contiguous(),
        layout.ends,
        layout.ends,
        longest,
        longest,
        scale=scale,
        window_size=window,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    assert isinstance(attended, Tensor)  # more only if more is asked for
    return attended


def _flash_attn() -> Any:
    """Return the function of the package flash-attn; None without it."""
    if find_spec("flash_attn") is None:
        return None
    return import_module("flash_attn").flash_attn_varlen_func


def _by_flash_attn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: Layout,
    window: tuple[int, int],
    scale: float | None,
    dropout: float,
) -> Tensor:
    longest = layout.shape[1]
    return _flash_attn()(
        query,
        key,
        value,
        layout.ends,
        layout.ends,
        longest,
        longest,
        dropout_p=dropout,
        softmax_scale=scale,
        causal=window[1] == 0,
        window_size=window,
    )


def one_by_one(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: Layout,
    window: tuple[int, int],
    scale: float | None,
    dropout: float,
) -> Tensor:
    """Return (T, H, D) attention, text after text: the slow twin of the kernels."""
    attended = []
    for start, end in layout.ends.unfold(0, 2, 1).tolist():
        texts = (x[start:end].transpose(0, 1)[None] for x in (query, key, value))
        out = nn.functional.scaled_dot_product_attention(
            *texts,
            attn_mask=_within(window, end - start, query.device),
            dropout_p=dropout,
            scale=scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        attended.append(out[0].transpose(0, 1))
    return torch.cat(attended)


def _within(window: tuple[int, int], tokens: int, device: torch.device) -> Tensor | None:
    """Return (W, W) True where a token sees another; None where each sees all."""
    if window == WHOLE:
        return None
    left, right = (tokens if reach < 0 else reach for reach in window)
    place = torch.arange(tokens, device=device)
    ahead = place[None] - place[:, None]
    return (-left <= ahead) & (ahead <= right)


def pack(encoder: Any, precision: str) -> bool:
    """Let an encoder leave out padding from now on, if it gives the same vectors; tell whether.

    It is tried as it stands: one that is trained has dropout, for which a GPU may have no kernel.
    Positions, windows and biases show in 32 bits, where no rounding hides them; the kernel after.
    """
    from transformers import AttentionInterface

    if encoder.device.type == "cuda" and precision == "float32":
        return False  # no kernel computes in 32 bits
    AttentionInterface.register(NAME, attention)
    trial = _trial(encoder)
    if not all(_same(encoder, trial, name) for name in {"float32": 0, precision: 0}):
        return False
    encoder.backbone.config._attn_implementation, encoder.packed = NAME, True
    return True


def _same(encoder: Any, trial: tuple[Tensor, Tensor], precision: str) -> bool:
    """Tell whether vectors in a precision are the same without padding."""
    config = encoder.backbone.config
    usual = config._attn_implementation
    with seeded(0, encoder.device), autocast(encoder.device, precision):
        expected_ND = _vectors(encoder, trial)
        config._attn_implementation, encoder.packed = NAME, True
        try:
            with torch.set_grad_enabled(encoder.training):
                encoder(*trial)  # with dropout, no two runs agree
            found_ND = _vectors(encoder, trial)
        except Exception:  # whatever a model that knows nothing of it raises
            return False
        finally:
            config._attn_implementation, encoder.packed = usual, False
    error_N = (found_ND - expected_ND).norm(dim=1) / expected_ND.norm(dim=1)
    return bool((error_N < NEAR[precision]).all())


def _trial(encoder: Any) -> tuple[Tensor, Tensor]:
    """Return ids and mask of texts of several lengths."""
    words = encoder.backbone.get_input_embeddings().num_embeddings
    sizes = [min(size, encoder.positions) for size in SIZES]
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

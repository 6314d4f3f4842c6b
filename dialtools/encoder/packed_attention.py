"""Attention of texts that are laid end to end, within each of them; as transformers asks for it.

torch's kernel for texts of many lengths sees to that on a GPU, or flash-attn's where it is
installed, which alone knows dropout; on a CPU texts of like length are padded for attention alone,
which has a hundredth of the arithmetic. N texts, T tokens in all, H heads of D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dialtools.encoder.device import moved

HALF = (torch.float16, torch.bfloat16)
WHOLE = (-1, -1)
"""The window of tokens on the left and on the right that see no end but the text's."""
UNKNOWN = ("position_bias", "softcap", "s_aux", "cache")
"""What attention may be asked for besides, and ours cannot."""
LIKE = 0.8
"""Of the longest text the shortest that is padded beside it, in tokens."""


class Run(NamedTuple):
    """Texts of like length, one behind the other.

    Attributes:
        begin: the first of their T tokens among those of all texts.
        end: behind the last.
        sizes: (n,) tokens of each text.
        width: tokens of the longest.
    """

    begin: int
    end: int
    sizes: Tensor
    width: int

    @property
    def is_even(self) -> bool:
        """Whether all texts have the same length."""
        return len(self.sizes) * self.width == self.end - self.begin

    @property
    def real(self) -> Tensor:
        """(n, W) True where a token of the padded texts is real."""
        return torch.arange(self.width) < self.sizes[:, None]


@dataclass(frozen=True)
class Layout:
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
        tensors = (moved(tensor, device) for tensor in (self.place, self.position, self.ends))
        return Layout(self.shape, *tensors)

    @cached_property
    def runs(self) -> list[Run]:
        """The texts, as they come, in runs of like length; those of no tokens are in none."""
        ends, sizes = self.ends.tolist(), self.ends.diff()
        runs: list[Run] = []
        first = least = most = 0
        for text, size in enumerate([*sizes.tolist(), -1]):  # the last, no text, ends the last run
            if min(least, size) < LIKE * max(most, size):
                if most:
                    runs.append(Run(ends[first], ends[text], sizes[first:text], most))
                first = text
            least, most = (size, size) if text == first else (min(least, size), max(most, size))
        return runs

    def padded(self, states_1TD: Tensor) -> Tensor:
        """Return (N, W, D) states of tokens at their places in the batch, zeros at the others."""
        count, width = self.shape
        dimension = states_1TD.shape[-1]
        rows = states_1TD.new_zeros(count * width, dimension)
        return rows.index_copy(0, self.place, states_1TD[0]).view(count, width, dimension)


class Ask(NamedTuple):
    """What is asked of attention.

    Attributes:
        layout: of the texts.
        window: tokens on the left and on the right that a token sees.
        scale: of the products; None is one over the root of D.
        dropout: share of what is seen that is left out.
    """

    layout: Layout
    window: tuple[int, int]
    scale: float | None
    dropout: float


_layout: ContextVar[Layout] = ContextVar("layout")


@contextmanager
def laid_out(layout: Layout) -> Iterator[None]:
    """Let attention stay within the texts of a layout, inside the block."""
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
    ask = Ask(_layout.get(), window, scaling, dropout)
    return _kernel(value, dropout)(*tokens, ask)[None], None


def _kernel(value: Tensor, dropout: float) -> Any:
    """Return what computes attention: a CPU's way, or a GPU's kernel, which is for 16 bits.

    Raises:
        NotImplementedError: if the GPU has none for this.
    """
    if value.device.type != "cuda" or value.dtype not in HALF:
        return side_by_side
    if _flash_attn():
        return _by_flash_attn
    if dropout:
        raise NotImplementedError("packed attention with dropout, without flash-attn")
    return _by_torch


def _by_torch(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    ask: Ask,
) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    longest = ask.layout.shape[1]
    attended = varlen_attn(
        query.contiguous(),
        key.contiguous(),
        value.contiguous(),
        ask.layout.ends,
        ask.layout.ends,
        longest,
        longest,
        scale=ask.scale,
        window_size=ask.window,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    assert isinstance(attended, Tensor)  # more only if more is asked for
    return attended


@cache
def _flash_attn() -> Any:
    """Return the function of the package flash-attn; None without it."""
    if find_spec("flash_attn") is None:
        return None
    return import_module("flash_attn").flash_attn_varlen_func


def _by_flash_attn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    ask: Ask,
) -> Tensor:
    longest = ask.layout.shape[1]
    return _flash_attn()(
        query,
        key,
        value,
        ask.layout.ends,
        ask.layout.ends,
        longest,
        longest,
        dropout_p=ask.dropout,
        softmax_scale=ask.scale,
        causal=ask.window[1] == 0,
        window_size=ask.window,
    )


def side_by_side(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    ask: Ask,
) -> Tensor:
    """Return (T, H, D) attention, texts of like length side by side: a CPU's kernel."""
    attended = [query.new_empty(0, *query.shape[1:])]
    for run in ask.layout.runs:
        place = None if run.is_even else run.real.flatten().nonzero()[:, 0]
        texts = (_padded(x, run, place) for x in (query, key, value))
        out = nn.functional.scaled_dot_product_attention(
            *texts,
            attn_mask=_seen(run, ask.window),
            dropout_p=ask.dropout,
            scale=ask.scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        tokens = out.transpose(1, 2).flatten(0, 1)
        attended.append(tokens if place is None else tokens[place])
    return torch.cat(attended)


def _padded(tokens_THD: Tensor, run: Run, place: Tensor | None) -> Tensor:
    """Return (n, H, W, D) the texts of a run, zeros where one is shorter than the longest."""
    tokens = tokens_THD[run.begin : run.end]
    shape = len(run.sizes), run.width, *tokens.shape[1:]
    if place is not None:
        room = tokens.new_zeros(shape[0] * shape[1], *shape[2:])
        tokens = room.index_copy(0, place, tokens)
    return tokens.view(shape).transpose(1, 2)


def _seen(run: Run, window: tuple[int, int]) -> Tensor | None:
    """Return (n or 1, 1, 1 or W, W) True where a token sees another; None where each sees all.

    A token of padding, which nobody looks at, sees all: one that sees nothing has no number.
    """
    if window == WHOLE:
        return None if run.is_even else run.real[:, None, None]
    left, right = (run.width if reach < 0 else reach for reach in window)
    place = torch.arange(run.width)
    ahead = place[None] - place[:, None]
    within = (-left <= ahead) & (ahead <= right)
    real = run.real
    return (within & real[:, None] | ~real[..., None])[:, None]

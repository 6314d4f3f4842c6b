"""Attention of texts that are laid end to end, within each of them; as transformers asks for it.

On a GPU short texts stand in blocks (encoder.blocks); for longer ones there is torch's kernel for
texts of many lengths, flash-attn's, in 16 bits. Elsewhere texts of like length are padded for
attention alone, which has a hundredth of the arithmetic. N texts, T tokens in all, H heads of D
dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder import blocks
from dialtools.encoder.device import together

HALF = (torch.float16, torch.bfloat16)
WHOLE = (-1, -1)
"""The window, in tokens to the left and to the right, of tokens that see all of their text."""
CAUSAL = (-1, 0)
"""That of tokens that see themselves and all before."""
UNKNOWN = ("position_bias", "softcap", "s_aux", "cache")
"""Further arguments of attention that ours does not understand."""
LIKE = {"cpu": 0.8, "cuda": 0.5}
"""The shortest text of a run has at least this share of the longest one's tokens; a GPU prefers few
and large runs."""


class Run(NamedTuple):
    """Texts of like length, one behind the other.

    Attributes:
        begin: the first of their T tokens among those of all texts.
        end: behind the last.
        sizes: (n,) tokens of each text.
        width: tokens of the longest.
        place: (T,) of each token among those of the padded texts; None if all have one length.
    """

    begin: int
    end: int
    sizes: Tensor
    width: int
    place: Tensor | None

    @property
    def real(self) -> Tensor:
        """(n, W) True where a token of the padded texts is real."""
        return torch.arange(self.width, device=self.sizes.device) < self.sizes[:, None]


@dataclass(frozen=True)
class Layout:
    """Where tokens stand in a padded batch, and without its padding.

    Attributes:
        shape: (N, W) of the padded batch.
        place: of each token in the padded batch; -1 for an empty token of a block.
        position: of each token in its own text, from 0 on.
        ends: (N + 1,) 0 and the end of each text, where texts stand one behind the other; int32
            once it is on its device.
        known: `ends` on the CPU, where reading them waits for no GPU.
        real: (T,) the places of the texts' tokens in blocks; None without blocks.
        room: tokens of a block.
    """

    shape: tuple[int, int]
    place: Tensor
    position: Tensor
    ends: Tensor
    known: Tensor
    real: Tensor | None = None
    room: int = 0
    _added: dict[tuple[tuple[int, int], torch.dtype], Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, mask_NT: Tensor, *, in_blocks: bool = False) -> Layout:
        """Return the layout of a batch that is padded on the right.

        Of a mask on a GPU that waits for the GPU, so it had better be on the CPU still.

        Args:
            in_blocks: fill texts into blocks, if none is too long for that.
        """
        count, width = mask_NT.shape
        sizes = mask_NT.sum(1).cpu().numpy()
        ends = np.concatenate([[0], sizes.cumsum()])
        position = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)
        place = np.repeat(np.arange(count) * width, sizes) + position
        filled = blocks.fitting(sizes) if in_blocks else None
        real = None
        if filled:
            real = np.repeat(filled.begins, sizes) + position
            place = _spread(place, real, filled.tokens, empty=-1)
            position = _spread(position, real, filled.tokens, empty=0)
        known = torch.from_numpy(ends)
        return cls(
            shape=(count, width),
            place=torch.from_numpy(place),
            position=torch.from_numpy(position),
            ends=known,
            known=known,
            real=None if real is None else torch.from_numpy(real),
            room=filled.room if filled else 0,
        )

    def to(self, device: torch.device) -> Layout:
        """Return it on a device; from pinned memory nothing waits for the copy."""
        if self.real is not None:
            place, position, real = together([self.place, self.position, self.real], device)
            return replace(self, place=place, position=position, real=real)
        place, position, ends = together([self.place, self.position, self.ends], device)
        return replace(self, place=place, position=position, ends=ends.int())

    @cached_property
    def runs(self) -> list[Run]:
        """The texts, as they come, in runs of like length; those of no tokens are in none."""
        like = LIKE[self.ends.device.type]
        runs: list[Run] = []
        first = least = most = 0
        # the last, no text, ends the last run
        for text, size in enumerate([*self.known.diff().tolist(), -1]):
            if min(least, size) < like * max(most, size):
                if most:
                    runs.append(self._run(first, text, most))
                first = text
            least, most = (size, size) if text == first else (min(least, size), max(most, size))
        return runs

    def _run(self, first: int, last: int, width: int) -> Run:
        """Return the run of the texts from the first to the one before the last."""
        begin, end = self.known[[first, last]].tolist()
        sizes = self.ends[first : last + 1].diff()
        if (last - first) * width == end - begin:
            return Run(begin, end, sizes, width, None)
        text = self.place[begin:end] // self.shape[1] - first
        return Run(begin, end, sizes, width, text * width + self.position[begin:end])

    def padded(self, states_1TD: Tensor) -> Tensor:
        """Return (N, W, D) states of tokens at their places in the batch, zeros at the others."""
        count, width = self.shape
        states, place = states_1TD.squeeze(0), self.place
        if self.real is not None:
            states, place = states[self.real], place[self.real]
        rows = states.new_zeros(count * width, states.shape[1])
        return rows.index_copy(0, place, states).view(count, width, -1)

    def added(self, window: tuple[int, int], dtype: torch.dtype) -> Tensor:
        """Return (B, 1, T, T) what is added to the products of tokens in blocks."""
        if (window, dtype) not in self._added:
            text = self.place.view(-1, self.room) // self.shape[1]  # -1 where no text stands
            position = self.position.view(-1, self.room)
            self._added[window, dtype] = blocks.added(blocks.seen(text, position, window), dtype)
        return self._added[window, dtype]


def _spread(values_T: np.ndarray, place_T: np.ndarray, room: int, *, empty: int) -> np.ndarray:
    """Return (room,) values at their places, something else where there is none."""
    spread = np.full(room, empty)
    spread[place_T] = values_T
    return spread


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
    tokens = [x.squeeze(0).transpose(0, 1).to(value.dtype) for x in (query, key, value)]
    ask = Ask(_layout.get(), window, scaling, dropout)
    return _kernel(value, ask.layout)(*tokens, ask)[None], None


def _kernel(value: Tensor, layout: Layout) -> Callable[..., Tensor]:
    """Return what computes attention: in blocks, by a GPU's kernel for 16 bits, or plainly."""
    if layout.real is not None:
        return block_by_block
    return flash if value.device.type == "cuda" and value.dtype in HALF else side_by_side


def flash(query: Tensor, key: Tensor, value: Tensor, ask: Ask) -> Tensor:
    """Return (T, H, D) attention by torch's kernel for texts of many lengths.

    It is what `torch.nn.attention.varlen` calls, which leaves out dropout, and until torch 2.12
    keys of fewer heads.
    """
    longest = ask.layout.shape[1]
    return torch.ops.aten._flash_attention_forward(
        query,
        key,
        value,
        ask.layout.ends,
        ask.layout.ends,
        longest,
        longest,
        ask.dropout,
        ask.window == CAUSAL,
        False,
        scale=ask.scale,
        window_size_left=ask.window[0],
        window_size_right=ask.window[1],
    )[0]


def block_by_block(query: Tensor, key: Tensor, value: Tensor, ask: Ask) -> Tensor:
    """Return (T, H, D) attention of tokens in blocks."""
    heads = query.shape[1] // key.shape[1]
    if heads > 1:  # the kernel that takes a mask has as many heads of keys as of queries
        key, value = (x.repeat_interleave(heads, 1) for x in (key, value))
    out = nn.functional.scaled_dot_product_attention(
        *(x.unflatten(0, (-1, ask.layout.room)).transpose(1, 2) for x in (query, key, value)),
        attn_mask=ask.layout.added(ask.window, query.dtype),
        dropout_p=ask.dropout,
        scale=ask.scale,
    )
    return out.transpose(1, 2).flatten(0, 1)


def side_by_side(query: Tensor, key: Tensor, value: Tensor, ask: Ask) -> Tensor:
    """Return (T, H, D) attention, texts of like length side by side."""
    attended = [query.new_empty(0, *query.shape[1:])]
    for run in ask.layout.runs:
        out = nn.functional.scaled_dot_product_attention(
            *(_padded(x, run) for x in (query, key, value)),
            attn_mask=_seen(run, ask.window),
            dropout_p=ask.dropout,
            is_causal=ask.window == CAUSAL,
            scale=ask.scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        tokens = out.transpose(1, 2).flatten(0, 1)
        attended.append(tokens if run.place is None else tokens.index_select(0, run.place))
    return torch.cat(attended)


def _padded(tokens_THD: Tensor, run: Run) -> Tensor:
    """Return (n, H, W, D) the texts of a run, zeros where one is shorter than the longest."""
    tokens = tokens_THD[run.begin : run.end]
    shape = len(run.sizes), run.width, *tokens.shape[1:]
    if run.place is not None:
        room = tokens.new_zeros(shape[0] * shape[1], *shape[2:])
        tokens = room.index_copy(0, run.place, tokens)
    return tokens.view(shape).transpose(1, 2)


def _seen(run: Run, window: tuple[int, int]) -> Tensor | None:
    """Return (n or 1, 1, 1 or W, W) True where a token sees another; None if all, or all before.

    Padding is behind its text: of what comes before a token it is no part. A token of padding,
    which nobody looks at, sees all: one that sees nothing has no number.
    """
    if window == CAUSAL:
        return None
    if window == WHOLE:
        return None if run.place is None else run.real[:, None, None]
    left, right = (run.width if reach < 0 else reach for reach in window)
    place = torch.arange(run.width, device=run.sizes.device)
    ahead = place[None] - place[:, None]
    within = (-left <= ahead) & (ahead <= right)
    real = run.real
    return (within & real[:, None] | ~real[..., None])[:, None]

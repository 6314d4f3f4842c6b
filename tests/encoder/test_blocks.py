"""Short texts in blocks: each once, none across an end, and attention within each as ever."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dialtools.encoder import blocks
from dialtools.encoder.packed import SHORT
from dialtools.encoder.packed_attention import Ask, Layout, block_by_block, side_by_side


def mask_of(sizes: list[int]) -> torch.Tensor:
    return (torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]).long()


@given(st.lists(st.integers(0, 64), max_size=60))
def test_each_text_stands_in_one_block_and_no_two_in_one_place(sizes):
    found = blocks.filled(np.array(sizes, np.int64), 64)
    taken = [range(begin, begin + size) for begin, size in zip(found.begins, sizes, strict=True)]
    tokens = [token for text in taken for token in text]
    assert len(set(tokens)) == len(tokens) == sum(sizes)
    assert all(text[0] // 64 == text[-1] // 64 for text in taken if text)
    assert found.tokens % 64 == 0 and found.tokens <= 64 * -(-2 * sum(sizes) // 64)


def test_the_longest_that_fits_comes_next():
    found = blocks.filled(np.array([5, 60, 3, 4, 2]), 64)
    assert found.begins.tolist() == [64, 0, 64 + 5, 60, 64 + 8] and found.tokens == 128


@pytest.mark.parametrize(
    ("sizes", "room"),
    [
        ([16] * 200, 64),
        ([30, 18, 9, 5, 2] * 40, 64),
        ([18] * 200, 128),  # of 64 tokens a sixth would be empty
        ([26] * 200, None),  # so would be of either
        ([90, 20, 11, 7] * 20, 128),
        ([129] + [18] * 200, None),
        (SHORT, 128),
        ([70], None),
        ([0, 0], None),
        ([], None),
    ],
)
def test_blocks_are_taken_where_little_of_them_is_empty(sizes, room):
    found = blocks.fitting(np.array(sizes, np.int64))
    assert (found.room if found else None) == room


def attended(layout: Layout, states: torch.Tensor, window: tuple[int, int], *, keys: int):
    """Return (N, W, H x D) attention of a batch's tokens, whose states stand at their places."""
    query = states[layout.place]
    few = query[:, :keys]
    kernel = side_by_side if layout.real is None else block_by_block
    rows = kernel(query, few * 2, few * 3, Ask(layout, window, None, 0.0))
    return layout.padded(rows.flatten(1)[None])


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (2, 2), (3, 0)])
@pytest.mark.parametrize("keys", [4, 2])
@pytest.mark.parametrize("sizes", [[9, 60, 0, 1, 33, 17, 64, 5], [100, 90, 3, 27, 28, 4]])
def test_attention_and_its_gradients_are_those_of_each_text_alone(sizes, keys, window):
    mask_NT = mask_of(sizes)
    torch.manual_seed(0)
    states = torch.randn(mask_NT.numel(), 4, 8, requires_grad=True)
    plain, filled = Layout.of(mask_NT), Layout.of(mask_NT, in_blocks=True)
    assert filled.real is not None and len(filled.place) % filled.room == 0
    expected, found = (attended(x, states, window, keys=keys) for x in (plain, filled))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    gradients = [torch.autograd.grad(x.square().sum(), states)[0] for x in (found, expected)]
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-4)


def test_what_is_no_text_gives_no_nan_and_stands_nowhere():
    layout = Layout.of(mask_of([5] * 12), in_blocks=True)
    assert layout.real is not None
    assert layout.place.tolist()[60:] == [-1] * 4 and sorted(layout.real.tolist()) == list(
        range(60)
    )
    rows = block_by_block(*[torch.randn(64, 2, 8)] * 3, Ask(layout, (-1, -1), None, 0.0))
    assert torch.isfinite(rows).all()

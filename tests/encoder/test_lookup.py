"""Word embeddings that add up their gradient in place: the gradient of torch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dialtools.encoder.quick import Lookup, quicken

IDS = [torch.tensor([[1, 4, 1], [0, 4, 6]]), torch.tensor([[6, 6], [2, 0]])]
"""Those of two micro-batches."""


def tables(**options: Any) -> tuple[nn.Module, nn.Module]:
    """Return a quick table and torch's, alike."""
    usual = nn.Sequential(nn.Embedding(8, 3, **options))
    quick = nn.Sequential(nn.Embedding(8, 3, **options))
    quick.load_state_dict(usual.state_dict())
    quicken(quick)
    assert type(quick[0]) is Lookup
    return quick, usual


def gradient(table: nn.Module, scale: float = 1.0) -> Tensor | None:
    """Return the gradient of a step of two micro-batches."""
    table.zero_grad()
    weights = torch.linspace(-1, 1, 3) * scale
    for ids in IDS:
        ((table(ids) @ weights).square().sum() + table(ids).sum()).backward()
    return table[0].weight.grad


@pytest.mark.parametrize("options", [{}, {"padding_idx": 0}, {"scale_grad_by_freq": True}])
def test_the_gradient_of_micro_batches_is_torch_s_step_after_step(options):
    quick, usual = tables(**options)
    for scale in (1.0, 3.0):
        torch.testing.assert_close(gradient(quick, scale), gradient(usual, scale))


def test_the_memory_of_a_gradient_is_kept_and_is_no_part_of_the_model():
    quick, _ = tables()
    first, again = gradient(quick), gradient(quick)
    assert first.data_ptr() == again.data_ptr()
    assert list(quick.state_dict()) == ["0.weight"] and not list(quick.buffers())


def test_a_table_that_is_asked_for_words_too_has_both_gradients():
    def of_both(table: nn.Module) -> Tensor:
        weight = table[0].weight
        (table(IDS[0]) @ weight.T).square().sum().backward()
        return weight.grad

    quick, usual = tables()
    torch.testing.assert_close(of_both(quick), of_both(usual))


def test_a_frozen_table_has_none_and_vectors_without_gradients_are_those_of_torch():
    quick, usual = tables()
    quick.requires_grad_(False)
    assert not quick(IDS[0]).requires_grad
    with torch.no_grad():
        torch.testing.assert_close(quick(IDS[0]), usual(IDS[0]))


def test_sparse_gradients_stay_sparse():
    quick, _ = tables(sparse=True)
    assert gradient(quick).is_sparse

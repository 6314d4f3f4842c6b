"""Gradient caching: the same gradients as keeping the graph, dropout included."""

from __future__ import annotations

import torch
from torch import nn

from dialtools.train import gradcache
from dialtools.train.losses.hard_negative import hard_negative


def gradients(cached: bool) -> tuple[float, list[torch.Tensor]]:
    torch.manual_seed(0)
    model = (
        nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.Tanh(), nn.Linear(8, 4)).double().train()
    )
    parts = torch.randn(12, 6, dtype=torch.float64).split([5, 4, 3])

    def loss(vectors: torch.Tensor) -> torch.Tensor:
        anchor, positive = nn.functional.normalize(vectors, dim=1).chunk(2)
        return hard_negative(anchor, positive, temperature=0.05).mean()

    value = gradcache.backward(model, parts, loss, seed=1, cached=cached)
    return float(value), [p.grad for p in model.parameters()]


def test_cached_and_kept_graphs_give_the_same_loss_and_gradients():
    (kept, kept_gradients), (cached, cached_gradients) = gradients(False), gradients(True)
    assert kept == cached
    for a, b in zip(kept_gradients, cached_gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


def test_cached_forward_keeps_no_graph_and_the_loss_is_detached():
    layer = nn.Linear(3, 2)
    graphs: list[bool] = []

    def encode(part: torch.Tensor) -> torch.Tensor:
        graphs.append(torch.is_grad_enabled())
        return layer(part)

    parts = torch.randn(4, 3).split(2)
    for cached, expected in ((True, [False, False, True, True]), (False, [True, True])):
        graphs.clear()
        loss = gradcache.backward(
            encode, parts, lambda rows: rows.square().mean(), seed=0, cached=cached
        )
        assert graphs == expected and not loss.requires_grad

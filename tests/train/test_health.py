"""The figures of a step's log: those of their definition, over the pairs of a batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dialtools.train import health


def unit(n: int, seed: int) -> torch.Tensor:
    rows = torch.randn(n, 3, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(rows + 0.3, dim=1)


def test_alignment_is_the_mean_squared_distance_of_partners():
    anchor, positive = unit(5, 0).requires_grad_(), unit(5, 1)
    distances = [((a - p) ** 2).sum().item() for a, p in zip(anchor, positive, strict=True)]
    assert health.alignment(anchor, positive) == pytest.approx(np.mean(distances), rel=1e-5)
    assert health.alignment(anchor, anchor) == pytest.approx(0, abs=1e-6)


def test_uniformity_is_over_two_different_rows_at_a_time():
    """Wang and Isola: log mean of exp(-2 d²); a row beside itself would say that all is well."""
    rows = unit(6, 2)
    kernels = [
        np.exp(-2 * ((rows[i] - rows[j]) ** 2).sum().item()) for i in range(6) for j in range(i)
    ]
    value = health.uniformity(rows.bfloat16().float())
    assert health.uniformity(rows) == pytest.approx(np.log(np.mean(kernels)), rel=1e-4)
    assert value == pytest.approx(np.log(np.mean(kernels)), rel=2e-2)
    assert health.uniformity(rows[:1]) == 0
    distance = ((rows[0] - rows[1]) ** 2).sum().item()
    assert health.uniformity(rows[:2]) == pytest.approx(-2 * distance, rel=1e-4)

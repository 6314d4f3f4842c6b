"""Losses: equal to their equations and the reference's numbers, finite where that is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from oracles import slow_losses

from dialtools.train.losses.hard_negative import hard_negative
from dialtools.train.losses.info_nce import info_nce, one_way
from dialtools.train.losses.nt_xent import nt_xent

GOLDEN = {"dse_HardNeg": hard_negative, "dse_Orig": nt_xent, "simcse": one_way}


def unit_pair(n: int = 7, d: int = 5, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rows = torch.randn(2 * n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(rows, dim=1).chunk(2)


@pytest.mark.parametrize(
    ("loss", "oracle"), [(hard_negative, slow_losses.hard_negative), (nt_xent, slow_losses.nt_xent)]
)
@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_losses_over_both_views_equal_their_equations(loss, oracle, temperature: float):
    anchor, positive = unit_pair()
    both = oracle(torch.cat([anchor, positive]).numpy(), temperature)
    ours = loss(anchor, positive, temperature=temperature).numpy()
    np.testing.assert_allclose(ours, (both[:7] + both[7:]) / 2, rtol=2e-5)


def test_cross_view_loss_equals_its_equation():
    anchor, positive = unit_pair()
    expected = slow_losses.info_nce(anchor.numpy(), positive.numpy(), 0.05)
    np.testing.assert_allclose(
        info_nce(anchor, positive, temperature=0.05).numpy(), expected, rtol=2e-5
    )


@pytest.mark.parametrize("loss", [hard_negative, nt_xent, info_nce, one_way])
def test_an_excluded_batch_mate_has_no_influence_and_a_pair_alone_has_no_loss(loss):
    anchor, positive = unit_pair(n=3)
    outside = torch.zeros(6, 6, dtype=torch.bool)
    outside[:, 2] = outside[:, 5] = True
    masked = loss(anchor, positive, temperature=0.1, excluded=outside)[:2]
    torch.testing.assert_close(masked, loss(anchor[:2], positive[:2], temperature=0.1))
    alone = anchor[:1].clone().requires_grad_()
    value = loss(alone, positive[:1], temperature=0.1).sum()
    value.backward()
    assert value.item() == pytest.approx(0.0, abs=1e-6)
    assert torch.isfinite(alone.grad).all()


@pytest.mark.parametrize("loss", [hard_negative, nt_xent, info_nce])
def test_losses_stay_finite_at_low_temperature_under_bfloat16(loss):
    rows = torch.randn(32, 16).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        unit = torch.nn.functional.normalize(rows @ torch.eye(16), dim=1)
        value = loss(*unit.chunk(2), temperature=0.01).mean()
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(rows.grad).all()


@pytest.mark.shared
@pytest.mark.parametrize("batch", [2, 3, 8, 32, 64, 256])
@pytest.mark.parametrize("inputs", ["rand", "corr"])
def test_values_and_gradients_equal_the_reference(shared: Path, inputs: str, batch: int):
    data = np.load(shared / "golden" / f"loss_{inputs}_B{batch}.npz")
    checked = 0
    for key in data.files:
        name, _, rest = key.partition("_t")
        if name not in GOLDEN or not key.endswith("_loss64") or "odd0" in key:
            continue
        temperature = float(rest.split("_")[0])
        first, second = (
            torch.tensor(data[f], dtype=torch.float32, requires_grad=True) for f in ("f1", "f2")
        )
        value = GOLDEN[name](first, second, temperature=temperature).mean()
        assert value.item() == pytest.approx(float(data[key]), rel=2e-4, abs=2e-5), key
        checked += 1
        gradient = key.replace("_loss64", "_gf1_64")
        if gradient in data.files:
            value.backward()
            scale = np.abs(data[gradient]).max()
            np.testing.assert_allclose(
                first.grad.numpy(), data[gradient], atol=max(2e-3 * scale, 1e-7), err_msg=key
            )
    assert checked >= 3


@pytest.mark.shared
def test_the_gradient_is_finite_where_the_reference_overflows(shared: Path):
    index = json.loads((shared / "golden" / "losses.json").read_text())
    assert '"finite_grad32": false' in json.dumps(index)
    data = np.load(shared / "golden" / "loss_corr_B64.npz")
    first, second = (
        torch.tensor(data[f], dtype=torch.float32, requires_grad=True) for f in ("f1", "f2")
    )
    hard_negative(first, second, temperature=0.01).mean().backward()
    assert torch.isfinite(first.grad).all()

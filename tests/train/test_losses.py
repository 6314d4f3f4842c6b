"""Losses: equal to their equations and the reference's numbers, finite where that is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow_losses, slow_matching

from dialtools.train.losses import matching
from dialtools.train.losses._rows import similarity
from dialtools.train.losses.catalog import LOSSES
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


SIZES = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=3)


@given(SIZES, st.lists(st.integers(1, 4), min_size=2, max_size=3), st.booleans())
def test_a_response_seen_through_a_context_is_the_transcription(
    contexts: list[list[int]], responses: list[int], attention: bool
):
    """Ragged turns, of one word too; DialogueCSE 4.1-4.3 with and without attention."""
    draw = np.random.default_rng(0)
    said = [[draw.normal(size=(size, 4)) for size in sizes] for sizes in contexts]
    answers = [draw.normal(size=(size, 4)) for size in responses]
    towards = draw.normal(size=4)
    weigh = (lambda pooled: pooled @ torch.from_numpy(towards)) if attention else None
    slow_weigh = (lambda pooled: float(pooled @ towards)) if attention else None

    sums = torch.zeros(len(said), 3, 4, dtype=torch.float64)
    sizes = torch.zeros(len(said), 3, dtype=torch.int64)
    for n, turns in enumerate(said):
        for c, turn in enumerate(turns):
            sums[n, c], sizes[n, c] = torch.from_numpy(turn.sum(0)), len(turn)
    padded = torch.zeros(len(answers), max(responses), 4, dtype=torch.float64)
    for j, answer in enumerate(answers):
        padded[j, : len(answer)] = torch.from_numpy(answer)

    expected = [[slow_matching.similarity(c, r, slow_weigh) for r in answers] for c in said]
    every = matching.similarities(sums, sizes, padded, weigh)
    own = matching.similarities(sums, sizes, padded.expand(len(said), -1, -1, -1), weigh)
    np.testing.assert_allclose(every.numpy(), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(own.numpy(), expected, rtol=1e-9, atol=1e-12)

    nobody = matching.similarities(torch.zeros_like(sums), torch.zeros_like(sizes), padded, weigh)
    assert torch.isfinite(nobody).all(), "a context without a turn"


def test_the_true_response_is_picked_among_candidates_that_are_not_excluded():
    similarity = torch.tensor([[0.1, 0.9, 0.4], [0.3, 0.2, -0.5]])
    truth = torch.tensor([2, 0])
    out = torch.tensor([[False, True, True], [True, False, False]])
    for excluded, kept in ((None, [[0, 1, 2], [0, 1, 2]]), (out, [[0, 2], [0, 1, 2]])):
        value, first = matching.pick_response(similarity, truth, temperature=0.5, excluded=excluded)
        slow = [
            np.log(sum(np.exp(row[k] / 0.5) for k in of_row)) - row[true] / 0.5
            for row, of_row, true in zip(similarity.tolist(), kept, truth.tolist(), strict=True)
        ]
        np.testing.assert_allclose(value.numpy(), slow, rtol=1e-5)
        best = [
            max(of_row, key=row.__getitem__) for row, of_row in zip(similarity, kept, strict=True)
        ]
        assert first.tolist() == [b == true for b, true in zip(best, truth.tolist(), strict=True)]


def test_similarities_are_float32_whatever_the_autocast():
    rows = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16):
        value = similarity(rows, rows, 0.05)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, rows @ rows.T / 0.05)
    assert similarity(rows.bfloat16(), rows.bfloat16(), 0.05).dtype == torch.float32


def test_the_catalogue_names_each_loss_and_only_dot_takes_raw_vectors():
    functions = {name: entry.load() for name, entry in LOSSES.items()}
    assert functions == {
        "hard-negative": hard_negative,
        "nt-xent": nt_xent,
        "info-nce": info_nce,
        "simcse": one_way,
        "dot": one_way,
    }
    assert [name for name, entry in LOSSES.items() if entry.raw] == ["dot"]


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

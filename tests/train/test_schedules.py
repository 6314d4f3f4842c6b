"""Learning rates: functions of the step alone."""

from __future__ import annotations

import pytest
import torch

from dialtools.train.optimiser import build, pace, set_rates


def test_schedules_rise_fall_and_stay():
    assert [pace("constant", s, total=10, warmup=0).rate for s in range(3)] == [1, 1, 1]
    assert [pace("linear", s, total=4, warmup=0).rate for s in range(4)] == [1, 0.75, 0.5, 0.25]
    assert [pace("linear", s, total=8, warmup=0.5).rate for s in range(5)] == [
        0.25,
        0.5,
        0.75,
        1,
        1,
    ]


def test_rates_fall_to_nothing_over_the_steps_after_the_warmup():
    after = [pace("linear", s, total=8, warmup=0.5).rate for s in range(4, 8)]
    assert after == [1, 0.75, 0.5, 0.25]
    assert pace("linear", 8, total=8, warmup=0.5).rate == 0
    cosine = [pace("cosine", s, total=6, warmup=0.33).rate for s in range(7)]
    assert cosine == pytest.approx([0.5, 1, 1, (1 + 0.5**0.5) / 2, 0.5, (1 - 0.5**0.5) / 2, 0])
    assert [pace("constant", s, total=4, warmup=0.5).rate for s in range(4)] == [0.5, 1, 1, 1]
    assert pace("linear", 3, total=4, warmup=1.0).rate == 1
    assert all(pace(name, 3, total=9, warmup=0).momentum is None for name in ("linear", "cosine"))


def test_nothing_decays_of_biases_and_norms_and_nothing_frozen_is_optimised():
    encoder = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3))
    head = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2, bias=False))
    head[1].weight.requires_grad_(False)
    built = build("adamw", encoder, head, lr=0.5, head_multiplier=4, weight_decay=0.01)
    told = {
        parameter: (group["lr"], group["base"], group["weight_decay"])
        for group in built.param_groups
        for parameter in group["params"]
    }
    assert told == {
        encoder[0].weight: (0.5, 0.5, 0.01),
        encoder[0].bias: (0.5, 0.5, 0),
        encoder[1].weight: (0.5, 0.5, 0),
        encoder[1].bias: (0.5, 0.5, 0),
        head[0].weight: (2, 2, 0.01),
        head[0].bias: (2, 2, 0),
    }
    assert set_rates(built, "linear", 1, total=4, warmup=0) == 0.75
    assert {group["lr"] for group in built.param_groups} == {0.375, 1.5}
    assert {group["betas"] for group in built.param_groups} == {(0.9, 0.999)}


@pytest.mark.parametrize(
    ("total", "warmup"), [(10, 0.3), (97, 0.3), (1000, 0.1), (5, 0.5), (40, 0.0)]
)
def test_one_cycle_sets_the_rates_and_momenta_of_torch(total: int, warmup: float):
    encoder, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    ours, theirs = (
        build("adamw", encoder, head, lr=3e-5, head_multiplier=40, weight_decay=0.01)
        for _ in range(2)
    )
    highest = [group["base"] for group in theirs.param_groups]
    assert sorted(set(highest)) == pytest.approx([3e-5, 1.2e-3])
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        theirs, highest, total_steps=total, pct_start=warmup
    )
    for step in range(total):
        set_rates(ours, "one-cycle", step, total=total, warmup=warmup)
        for a, b in zip(ours.param_groups, theirs.param_groups, strict=True):
            assert a["lr"] == pytest.approx(b["lr"], rel=1e-9)
            assert a["betas"] == pytest.approx(b["betas"], rel=1e-9)
        theirs.step()
        cycle.step() if step + 1 < total else None


@pytest.mark.parametrize("total", [1, 2, 3])
def test_one_cycle_is_defined_for_the_shortest_of_runs(total: int):
    assert all(0 < pace("one-cycle", s, total=total, warmup=0.5).rate <= 1 for s in range(total))


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "one-cycle"])
@pytest.mark.parametrize("warmup", [0.0, 0.1, 1.0])
def test_a_run_of_one_step_learns(schedule: str, warmup: float):
    assert pace(schedule, 0, total=1, warmup=warmup).rate >= 0.5

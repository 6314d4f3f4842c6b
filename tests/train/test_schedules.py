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

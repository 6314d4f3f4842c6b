"""The figures of a step's log: those of their definition, over the pairs of a batch."""

from __future__ import annotations

import sys
import weakref
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import orjson
import pytest
import torch

from dialtools.errors import ConfigError
from dialtools.train import heads, health
from dialtools.train.steplog import StepLog


def rows_kept(folder: Path, upto: int) -> list[int]:
    with closing(StepLog(folder, upto=upto, tensorboard=None)) as log:
        log.add({"step": upto + 1, "loss": 0.5})
        lines = (folder / "train-log.jsonl").read_bytes().splitlines()  # at once, not at the end
    assert log.file.closed
    return [orjson.loads(line)["step"] for line in lines]


def test_a_log_keeps_the_rows_up_to_the_checkpoint_and_no_half_of_one(tmp_path: Path):
    path = tmp_path / "train-log.jsonl"
    assert rows_kept(tmp_path, 0) == [1]
    written = b"".join(b'{"step":%d}\n' % step for step in (1, 2, 3)) + b'{"step":1}'
    for upto, kept in ((2, [1, 2, 3]), (3, [1, 2, 3, 4]), (1, [1, 2]), (0, [1])):
        path.write_bytes(written)
        assert rows_kept(tmp_path, upto) == kept
    path.write_bytes(b'{"step":0}\n')
    assert rows_kept(tmp_path, 0) == [1], "without a checkpoint none is kept"


@pytest.mark.parametrize(
    ("before", "upto", "purged"), [(b"", 0, None), (b'{"step":1}\n', 0, 0), (b'{"step":7}\n', 7, 8)]
)
def test_tensorboard_hides_the_steps_after_the_checkpoint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, before: bytes, upto: int, purged: int | None
):
    (tmp_path / "train-log.jsonl").write_bytes(before)
    made = Mock()
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", Mock(SummaryWriter=made))
    with closing(StepLog(tmp_path, upto=upto, tensorboard="runs")) as log:
        log.add({"step": upto + 1, "loss": 0.5})
    made.assert_called_once_with("runs", purge_step=purged)
    made().add_scalar.assert_any_call("loss", 0.5, upto + 1)


@pytest.mark.parametrize(
    ("name", "width", "shapes"),
    [
        ("mlp", 128, [(6, 6), (128, 6)]),
        ("tanh", 6, [(6, 6), (6,)]),
        ("linear", 6, [(6, 6), (6,)]),
        ("none", 6, []),
    ],
)
def test_a_head_is_of_its_method_and_drawn_from_the_seed(name: str, width: int, shapes: list):
    rows, window = torch.randn(4, 6), torch.ones(4, dtype=torch.int64)

    def head(seed: int) -> torch.nn.Module:
        torch.manual_seed(seed + 3)
        return heads.build(name, 6, windows=[1, 2], seed=seed)

    head_of = {seed: head(seed) for seed in (0, 1)}
    found = head_of[0](rows, window)
    assert found.shape == (4, width)
    assert [tuple(p.shape) for p in head_of[0].parameters()] == shapes
    assert torch.equal(found, head(0)(rows, window))
    assert torch.equal(found, head_of[1](rows, window)) is (name == "none")
    assert bool((found < 0).any()), "no head ends in a ReLU"
    assert (found.abs() <= 1).all() or name != "tanh"


def test_each_window_has_a_head_of_its_own_which_is_that_of_any_other_choice_of_windows():
    rows, window = torch.randn(5, 4), torch.tensor([3, 1, 3, 1, 1])
    both = heads.build("window-linear", 4, windows=[1, 3], seed=0)
    alone = {n: heads.build("window-linear", 4, windows=[n], seed=0) for n in (1, 3)}
    headed = both(rows, window)
    for n, head in alone.items():
        of_window = window == n
        torch.testing.assert_close(headed[of_window], head(rows[of_window], window[of_window]))
    assert not torch.allclose(alone[1](rows, window * 0 + 1), alone[3](rows, window * 0 + 3))
    widest = heads.build("window-linear", 2, windows=range(1, 17), seed=0)
    assert isinstance(widest, heads.PerWindow) and len(widest.heads) == 16
    with pytest.raises(ConfigError, match="17 window sizes, and a head for each"):
        heads.build("window-linear", 2, windows=range(1, 18), seed=0)


def test_heads_of_windows_between_are_drawn_and_not_held():
    alive: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
    most = []

    def layer(dimension: int) -> torch.nn.Module:
        alive.add(drawn := torch.nn.Linear(dimension, dimension))
        most.append(len(alive))
        return drawn

    assert [*heads.PerWindow(layer, 2, [1, 40]).heads] == ["1", "40"]
    assert len(most) == 40 and max(most) <= 3


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

"""What is saved of the weights: an average over the steps, a part of the way from the start."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from at_work import broken_off, logged
from pair_corpus import Train, steps, weights
from safetensors.numpy import load_file

TUNE = shlex.split(
    "--threads 1 --device cpu --batch-size 32 --lr 1e-3 --max-steps 12 "
    "--merge-with-start 1 --no-center"
)
KEPT = shlex.split("--snapshot-every 1")
WAYS = ("--ema 0.6", "--merge-with-start 0.5")
BOTH = shlex.split("--ema 0.6 --merge-with-start 0.5")


def tensors(model: Path) -> dict[str, np.ndarray]:
    return load_file(model / "model.safetensors")


def way(start: Path, trained: Path) -> list[dict[str, np.ndarray]]:
    """Return the weights after each step of a run that keeps them all, the start's first."""
    snapshots = sorted((trained / "snapshots").iterdir())
    assert weights(snapshots[0]) == weights(start)
    return [tensors(snapshot) for snapshot in snapshots]


def averaged(way: list[dict[str, np.ndarray]], decay: float) -> dict[str, np.ndarray]:
    """Return the moving average of the last of some steps, as slowly as it can be said."""
    average = {name: value.astype(float) for name, value in way[0].items()}
    for step, now in enumerate(way[1:], start=1):
        kept = min(decay, (1 + step) / (10 + step))
        average = {name: kept * average[name] + (1 - kept) * now[name] for name in now}
    return average


@pytest.fixture(scope="module")
def trained(train: Train, model: Path, pairs: Path, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "model"
    train("--model", model, *TUNE, *KEPT, "-o", path, pairs, small=False)
    return path


def heads(model: Path) -> dict[str, np.ndarray]:
    return load_file(model / "head.safetensors")


@pytest.mark.parametrize("flags", ["--validation-share .3 --validate-every 3 --keep-best", *WAYS])
def test_a_kept_head_is_that_of_the_weights_that_are_kept(
    train: Train, model: Path, pairs: Path, tmp_path: Path, flags: str
):
    head = ("--model", model, *TUNE, "--head", "mlp", "--keep-head")
    out = tmp_path / "out"
    train(*head, *KEPT, *flags.split(), "-o", out, pairs, small=False)
    same = [
        snapshot
        for snapshot in sorted((out / "snapshots").iterdir())
        if weights(snapshot) == weights(out)
    ]
    assert same and heads(same[-1]).keys() == heads(out).keys()
    for name, tensor in heads(same[-1]).items():
        np.testing.assert_array_equal(tensor, heads(out)[name])
    plain = tmp_path / "plain"
    train(*head, "-o", plain, pairs, small=False)
    if flags in WAYS:
        last = heads(plain)
        assert any((tensor != last[name]).any() for name, tensor in heads(out).items())


@pytest.mark.parametrize("decay, share", [(0.0, 0.3), (0.6, 1.0), (0.6, 0.5)])
def test_the_average_and_the_part_of_the_way_are_those_of_the_weights_of_each_step(
    decay: float, share: float, train: Train, model: Path, pairs: Path, trained: Path, tmp_path
):
    flags = ("--ema", decay, "--merge-with-start", share, *KEPT)
    train("--model", model, *TUNE, *flags, "-o", tmp_path / "saved", pairs, small=False)
    went, start = way(model, trained), tensors(model)
    for step in (5, 12):
        whole = averaged(went[: step + 1], decay) if decay else went[step]
        expected = {name: start[name] + share * (whole[name] - start[name]) for name in start}
        found = tensors(tmp_path / "saved" / "snapshots" / f"step-{step:06d}")
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-7)
    assert weights(tmp_path / "saved") == weights(tmp_path / "saved" / "snapshots" / "step-000012")
    logs = [
        [row["loss"] for row in steps(path / "train-log.jsonl")]
        for path in (trained, tmp_path / "saved")
    ]
    assert logs[0] == logs[1], "the steps go on from the last weights, whatever is saved"


def test_frozen_layers_keep_their_bits_when_merged(
    train: Train, minilm: str, pairs: Path, tmp_path: Path
):
    flags = shlex.split("--freeze 5 --merge-with-start 0.3 --max-steps 1 --batch-size 4")
    flags += shlex.split("--threads 1 --device cpu")
    train("--model", minilm, *flags, "-o", tmp_path / "m", pairs, small=False)
    before, after = load_file(Path(minilm) / "model.safetensors"), tensors(tmp_path / "m")
    moved = {name for name, value in after.items() if not np.array_equal(value, before[name])}
    assert moved and all(name.startswith(("encoder.layer.5.", "pooler.")) for name in moved)


def test_a_killed_run_with_an_average_ends_in_the_bytes_of_an_unbroken_one(
    train: Train, model: Path, pairs: Path, scripts: Path, environment, tmp_path: Path
):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    flags = "--max-steps 150 --checkpoint-every 7 --snapshot-every 30 --validation-share 0.25"
    run = ("--model", model, *TUNE, *BOTH, *flags.split(), "--validate-every", 25, "--keep-best")
    train(*run, "-o", whole, pairs, small=False)
    line = [scripts / "dial-train", *run, "-o", broken, pairs]
    broken_off(line, lambda: logged(broken) > 40, env=environment)
    assert not broken.exists()
    train(*line[1:], "--resume", small=False)
    snapshots = [f"step-{step:06d}" for step in range(0, 151, 30)]
    assert sorted(path.name for path in (broken / "snapshots").iterdir()) == snapshots
    names = ["", *(f"snapshots/{name}" for name in snapshots)]
    assert [weights(broken / name) for name in names] == [weights(whole / name) for name in names]
    told = [json.loads((m / "dialtools.json").read_text())["validation"] for m in (whole, broken)]
    assert told[0] == told[1] and told[0]["before"] != told[0]["after"]


def test_validation_is_of_what_is_saved_and_the_card_tells_what_that_is(
    train: Train, model: Path, pairs: Path, tmp_path: Path
):
    run = ("--model", model, *TUNE, "--validation", pairs, "-q")
    train(*run, *BOTH, "-o", tmp_path / "saved", pairs, small=False)
    told = json.loads((tmp_path / "saved" / "dialtools.json").read_text())["final"]["top-1"]
    again = ("--model", tmp_path / "saved", "--max-steps", 0, "-o", tmp_path / "again")
    train(*run[2:], *again, pairs, small=False)

    (first, *_) = (tmp_path / "again" / "train-log.jsonl").read_text().splitlines()
    assert json.loads(first)["top-1"] == pytest.approx(told)
    card = (tmp_path / "saved" / "README.md").read_text()
    assert "Saved: a moving average of the weights (decay 0.6), 0.5 of the way from the start." in (
        card
    )


def test_merging_with_the_start_needs_a_start(train: Train, pairs: Path, tmp_path: Path):
    refused = train("--merge-with-start", 0.5, "-o", tmp_path / "m", pairs, code=2).stderr
    assert b"--merge-with-start needs --model" in refused
    for flag, value in (("--merge-with-start", 0), ("--merge-with-start", 1.1), ("--ema", 1)):
        assert flag.encode() in train(flag, value, "-o", tmp_path / "m", pairs, code=2).stderr
    assert not list(tmp_path.iterdir())

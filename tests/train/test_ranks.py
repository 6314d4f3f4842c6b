"""Several processes take the steps of one run, and it is the run of one process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from pair_corpus import SMALL, Train, as_lines, pair_records, steps
from safetensors.torch import load_file

ROOT = Path(__file__).parents[2]
RUN = ("--batch-size", "32", "--lr", "1e-3", "--micro-batch-tokens", "200")
TWO = ("--nproc", "2")
TEMPLATES = [("book {city} on {day}", "book rome on monday"), ("play {song}", "play help")]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs that every objective can learn from."""
    rows = pair_records(40)
    for number, row in enumerate(rows):
        template, _ = TEMPLATES[number % 2]
        row |= {"follow": ["thanks", "bye"], "template": template}
    path = tmp_path_factory.mktemp("samples") / "pairs.jsonl"
    path.write_bytes(as_lines(rows))
    return path


def same(one: Path, two: Path) -> None:
    """Losses to 1e-6 of their size, weights to 1e-5."""
    losses = [[row["loss"] for row in steps(each / "train-log.jsonl")] for each in (one, two)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
    ours, theirs = (load_file(each / "model.safetensors") for each in (one, two))
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("method", "flags"),
    [
        ("dse", ("--loss", "hard-negative", "--head", "mlp")),
        ("wmdc", ("--head", "window-linear", "--batches", "by-window")),
        ("simcse", ()),
        ("dialoguecse", ("--negatives", "all", "--freeze", "0")),
        ("siamese-m", ("--negatives", "3", "--freeze", "0")),
        ("tadse", ()),
        ("mlm", ()),
        ("dse", ("--encoder", "static", "--vocab-size", "300", "--hidden", "64")),
        ("dse", ("--grad-cache", "on", "--matryoshka", "64,32")),
    ],
)
def test_two_processes_take_the_steps_of_one(train: Train, samples, tmp_path, method, flags):
    static = "static" in flags
    run = (*RUN, "--method", method, *flags, "--max-steps", "5")
    for name, processes in (("one", ()), ("two", TWO)):
        output = ("-o", tmp_path / name, "--threads", "1", samples)
        train(*run, *processes, *output, small=not static)
    same(tmp_path / "one", tmp_path / "two")


def command(*arguments: object) -> list[str]:
    return [sys.executable, str(ROOT / "bin" / "dial-train"), *SMALL, *RUN, *map(str, arguments)]


def followers(process: int) -> list[int]:
    """The processes that one has started."""
    return [
        int(pid)
        for tasks in Path(f"/proc/{process}/task").glob("*/children")
        for pid in tasks.read_text().split()
    ]


def begun(run: list[str], environment, model: Path, after: int) -> subprocess.Popen[bytes]:
    """Start a run and wait until it has taken some steps."""
    process = subprocess.Popen(
        run, env=environment, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    log = model.with_name("model.partial") / "train-log.jsonl"
    while not (log.exists() and log.read_bytes().count(b"\n") >= after):
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("victim", ["follower", "leader"])
def test_where_one_ends_all_do_and_another_number_of_processes_goes_on(
    train: Train, environment, samples, tmp_path, victim
):
    model, length = tmp_path / "model", ("--max-steps", "40", "--checkpoint-every", "3")
    run = command("-q", *length, *TWO, "-o", model, samples)
    process = begun(run, environment, model, after=7)
    (follower,) = followers(process.pid)
    os.kill(follower if victim == "follower" else process.pid, signal.SIGKILL)
    told = process.communicate(timeout=120)[1].decode()
    if victim == "follower":
        assert process.returncode == 1 and len(told.splitlines()) <= 2, told
        assert "another process of this run has ended" in told
    deadline = time.monotonic() + 60
    while Path(f"/proc/{follower}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{follower}").exists()

    train(*RUN, *length, "-o", model, "--resume", samples)
    train(*RUN, *length, "-o", tmp_path / "unbroken", samples)
    same(model, tmp_path / "unbroken")


def test_interrupted_it_keeps_its_step_and_leaves_no_process(environment, samples, tmp_path):
    model = tmp_path / "model"
    run = command("--max-steps", "4000", *TWO, "-o", model, samples)
    process = begun(run, environment, model, after=3)
    (follower,) = followers(process.pid)
    process.send_signal(signal.SIGTERM)  # which, unlike SIGINT, nobody ignores for others
    assert b"--resume goes on" in process.communicate(timeout=120)[1]
    assert process.returncode == -signal.SIGTERM
    deadline = time.monotonic() + 60
    while Path(f"/proc/{follower}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{follower}").exists()


def test_under_torchrun_it_is_the_same(train: Train, environment, samples, tmp_path):
    few = ("--max-steps", "3")
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run = command(*few, "-o", tmp_path / "two", samples)
    done = subprocess.run(
        [run[0], *torchrun, *run[1:]], env=environment, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split() == [str(tmp_path / "two")], "one process prints"
    train(*RUN, *few, "-o", tmp_path / "one", samples)
    same(tmp_path / "one", tmp_path / "two")
    assert json.loads((tmp_path / "two" / "dialtools.json").read_text())

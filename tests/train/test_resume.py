"""kill -9, Ctrl-C and SIGTERM, then --resume: the same weights as without."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest
from pair_corpus import SMALL, Train, steps, weights

RUN = (
    "--batch-size",
    32,
    "--max-steps",
    150,
    "--epochs",
    50,
    "--lr",
    "1e-3",
    "--checkpoint-every",
    7,
)


@pytest.fixture(scope="module")
def unbroken(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of a run that nobody disturbed, and its step log."""
    model = tmp_path_factory.mktemp("unbroken") / "model"
    train(*RUN, "-o", model, stdin=pairs.read_bytes())
    return model


@pytest.fixture
def broken(scripts: Path, environment: dict[str, str], pairs: Path) -> Callable[..., int]:
    """Start a run from a pipe, signal it once `after` steps are in its log; return its status."""

    def run(model: Path, number: int, *, after: int) -> int:
        log = model.with_name("model.partial") / "train-log.jsonl"
        command = [str(scripts / "dial-train"), *SMALL, *map(str, RUN), "-o", str(model)]
        with pairs.open("rb") as stdin:
            process = subprocess.Popen(
                command, stdin=stdin, stdout=PIPE, stderr=PIPE, env=environment
            )
        deadline = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            if log.exists() and log.read_bytes().count(b"\n") >= after:
                process.send_signal(number)
                break
            time.sleep(0.01)
        process.communicate(timeout=300)
        return process.returncode

    return run


@pytest.mark.parametrize("after", [0, 40, 90])
def test_kill_9_and_resume_end_in_the_weights_of_an_unbroken_run(
    after: int, train: Train, broken: Callable[..., int], unbroken: Path, tmp_path: Path
):
    model = tmp_path / "model"
    assert broken(model, signal.SIGKILL, after=after) == -signal.SIGKILL
    assert not model.exists()
    train(*RUN, "-o", model, "--resume")
    assert weights(model) == weights(unbroken)
    assert not model.with_name("model.partial").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_saves_its_step_and_goes_on_without_its_input(
    number: int, code: int, train: Train, broken: Callable[..., int], unbroken: Path, tmp_path: Path
):
    model = tmp_path / "model"
    assert broken(model, number, after=20) == code
    assert not model.exists()
    train(*RUN, "-o", model, "--resume")
    assert weights(model) == weights(unbroken)
    assert [row["step"] for row in steps(model / "train-log.jsonl")] == list(range(1, 151)), (
        "each step is logged once"
    )


def test_resume_refuses_other_options_and_names_them(
    train: Train, broken: Callable[..., int], tmp_path: Path
):
    model = tmp_path / "model"
    broken(model, signal.SIGTERM, after=10)
    done = train(*RUN, "--temperature", "0.1", "-o", model, "--resume", code=2)
    assert b"temperature" in done.stderr
    assert not model.exists()

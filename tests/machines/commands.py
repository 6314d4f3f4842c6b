"""The commands as tests run them: a server for the whole run, and the folders of its scripts.

A plug-in of pytest, named in tests/conftest.py; see README.md beside it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from machines import host_cuda, warm

PREFIX = "dial-tests-"
PATIENCE = 600  # seconds: importing torch on a machine that has other work


def pytest_configure(config: pytest.Config) -> None:
    """Start the server once for all workers; hide the GPUs from tests that ask for none."""
    if "DIALTOOLS_GPUS" not in os.environ:
        os.environ["DIALTOOLS_GPUS"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0,1")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    is_worker = hasattr(config, "workerinput")
    if not is_worker and not config.option.collectonly:
        sweep(Path(tempfile.gettempdir()))
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        config.warm_folder = held(folder)
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
        os.close(config.warm_folder)


def held(folder: Path) -> int | None:
    """Lock a folder while this process lives; return a descriptor, or None if another has it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def sweep(parent: Path) -> None:
    """Remove the folders of runs that were killed; a server without its folder ends by itself."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or swept by another run
            if (descriptor := held(folder)) is not None:
                shutil.rmtree(folder)
                os.close(descriptor)


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

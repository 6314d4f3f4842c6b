"""A plug-in for sentence-transformers' own tests: the models that they name are one folder.

Its tests take models from fixtures, and some by name from the hub's cache; `conftest.py` of that
project is not in its source distribution, and there is no hub. DIAL_MODEL names the folder.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FIXTURES = (
    "stsb_bert_tiny_model",
    "paraphrase_distilroberta_base_v1_model",
    "distilbert_base_uncased_model",
)
NAMES = ("sentence-transformers-testing/stsb-bert-tiny-safetensors",)
REVISION = "0" * 40


def _fixture(name: str) -> Any:
    @pytest.fixture(name=name)
    def model() -> Any:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(os.environ["DIAL_MODEL"], device="cpu")

    return model


globals().update({name: _fixture(name) for name in FIXTURES})


@pytest.fixture
def cache_dir() -> None:
    return None


def pytest_configure() -> None:
    """Lay the folder where the hub's cache has what is called so; give `tests.utils`."""
    for name in NAMES:
        home = Path(os.environ["HF_HOME"]) / "hub" / f"models--{name.replace('/', '--')}"
        (home / "refs").mkdir(parents=True)
        (home / "refs/main").write_text(REVISION)
        shutil.copytree(os.environ["DIAL_MODEL"], home / "snapshots" / REVISION)
    utils: Any = ModuleType("tests.utils")
    utils.is_ci = lambda: True
    sys.modules["tests.utils"] = utils

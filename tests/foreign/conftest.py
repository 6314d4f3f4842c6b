"""Suites and tools that nobody here wrote: `make test-foreign`; what is not there is skipped."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from at_work import ended

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
Dial = Callable[..., str]
TOOLS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
"""Where tools are looked for: csvkit is beside the interpreter."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.foreign)


@pytest.fixture(scope="session")
def dial(scripts: Path, environment: dict[str, str]) -> Dial:
    """Run a pipeline of the shell, in which our commands are found; returns its stdout."""
    path = os.pathsep.join([str(scripts), TOOLS])

    def run(line: str, *, cwd: Path) -> str:
        done = ended(
            "bash",
            "-euo",
            "pipefail",
            "-c",
            line,
            cwd=cwd,
            env={**environment, "PATH": path},
            text=True,
        )
        return done.stdout

    return run


@pytest.fixture(scope="session")
def intents() -> list[dict[str, str]]:
    """The labelled utterances that ship with the examples."""
    with gzip.open(ROOT / "examples/intents.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def learnt(dial: Dial, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small transformer that dial-train wrote, as `model/`; its width is that of the suites."""
    folder = tmp_path_factory.mktemp("learnt")
    dial(
        f"dial-pairs -q -n 400 --window 1 {ROOT}/examples/dialogues.jsonl.gz"
        " | dial-train -q --vocab-size 400 --hidden 128 --layers 2 --threads 1 --device cpu"
        " --max-steps 2 --batch-size 16 -o model",
        cwd=folder,
    )
    return folder / "model"

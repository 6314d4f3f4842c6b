"""A small corpus of pairs, and dial-train as a real process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from pair_corpus import SMALL, Train, as_lines, pair_records


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

    def run(*arguments: object, stdin: bytes = b"", code: int = 0, small: bool = True) -> subprocess.CompletedProcess:
        command = [str(scripts / "dial-train"), *(SMALL if small else ()), *map(str, arguments)]
        done = subprocess.run(command, input=stdin, capture_output=True, env=environment, timeout=900)
        assert done.returncode == code, done.stderr.decode()
        return done

    return run


@pytest.fixture(scope="session")
def model(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder that has learnt nothing."""
    path = tmp_path_factory.mktemp("fresh") / "model"
    train("--max-steps", 0, "-o", path, pairs)
    return path

"""Rows on a circle, and the commands that look for near ones."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from at_work import ended
from pair_corpus import as_lines

Near = Callable[..., subprocess.CompletedProcess]


def at(degrees: float) -> list[float]:
    """Return a vector of length 1: cosines of differences that a reader can order."""
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def rows(done: subprocess.CompletedProcess) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def near(scripts: Path, environment: dict[str, str], tmp_path: Path) -> Near:
    """Run `dialtools WORD ...`; files are given as `name=[records]`, and lie in the folder."""

    def run(
        *arguments: object, stdin: bytes = b"", code: int = 0, **files: list[dict[str, Any]]
    ) -> subprocess.CompletedProcess:
        for name, records in files.items():
            (tmp_path / f"{name}.jsonl").write_bytes(as_lines(records))
        return ended(
            scripts / "dialtools",
            *arguments,
            code=code,
            env=environment,
            cwd=tmp_path,
            timeout=300,
            input=stdin,
        )

    return run

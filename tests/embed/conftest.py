"""What tests of vectors and of models share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from at_work import ended


@pytest.fixture
def call(
    scripts: Path, environment: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess]:
    """Run a command, and its verb if it has one, in an empty folder; its status must be `code`."""

    def run(command: str, *arguments: object, code: int = 0, stdin: bytes = b""):
        name, *first = command.split()
        line = [str(scripts / name), *first, *map(str, arguments)]
        return ended(*line, code=code, input=stdin, env=environment, cwd=tmp_path, timeout=600)

    return run

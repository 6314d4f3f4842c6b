"""dial-augment as a real process."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from pair_corpus import as_lines

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def run(scripts: Path, tmp_path: Path) -> Run:
    """Run dial-augment on records or bytes in `tmp_path`; it must end with the status `code`."""

    def run(
        *words: object, data: list[dict] | bytes = b"", code: int = 0
    ) -> subprocess.CompletedProcess:
        lines = data if isinstance(data, bytes) else as_lines(data)
        command = [scripts / "dial-augment", *map(str, words)]
        done = subprocess.run(command, input=lines, capture_output=True, cwd=tmp_path)
        assert done.returncode == code, done.stderr.decode()
        assert b"Traceback" not in done.stderr
        return done

    return run

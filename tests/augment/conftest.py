"""dial-augment as a real process."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from at_work import ended
from pair_corpus import as_lines

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def run(scripts: Path, tmp_path: Path) -> Run:
    """Run dial-augment on records or bytes in `tmp_path`; it must end with the status `code`."""

    def run(
        *words: object, data: list[dict] | bytes = b"", code: int = 0
    ) -> subprocess.CompletedProcess:
        lines = data if isinstance(data, bytes) else as_lines(data)
        done = ended(scripts / "dial-augment", *words, code=code, input=lines, cwd=tmp_path)
        assert b"Traceback" not in done.stderr
        return done

    return run

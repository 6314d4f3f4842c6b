"""dial-freq as a real process."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from at_work import ended

Freq = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def freq(scripts: Path, tmp_path: Path) -> Freq:
    """Run dial-freq in `tmp_path`; `code` is the exit status it must end with."""

    def run(*words: object, data: bytes = b"", code: int = 0) -> subprocess.CompletedProcess:
        command = [str(scripts / "dial-freq"), *map(str, words)]
        done = ended(*command, code=code, input=data, cwd=tmp_path, timeout=900)
        assert b"Traceback" not in done.stderr
        return done

    return run

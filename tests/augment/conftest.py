"""dial-augment as a real process."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def run(scripts: Path, tmp_path: Path) -> Run:
    """Run dial-augment on records or bytes in `tmp_path`; `code` is the exit status it must end with."""

    def run(
        *words: object, data: list[dict] | bytes = b"", code: int = 0
    ) -> subprocess.CompletedProcess:
        lines = (
            data
            if isinstance(data, bytes)
            else b"".join(orjson.dumps(r, option=orjson.OPT_APPEND_NEWLINE) for r in data)
        )
        done = subprocess.run(
            [scripts / "dial-augment", *map(str, words)],
            input=lines,
            capture_output=True,
            cwd=tmp_path,
        )
        assert done.returncode == code, done.stderr.decode()
        assert b"Traceback" not in done.stderr
        return done

    return run

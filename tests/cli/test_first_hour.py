"""The page of the first hour: its commands run as printed, one after another, on a smaller log."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "first-hour.md").read_text()
DIALOGUES = 300


@pytest.mark.slow
def test_every_command_of_the_first_hour_runs_as_printed(tmp_path: Path, scripts: Path):
    (tmp_path / "examples").mkdir()
    shipped = Path("examples") / "dialogues.jsonl.gz"
    with gzip.open(ROOT / shipped) as lines:
        (tmp_path / shipped).write_bytes(gzip.compress(b"".join(lines.readlines()[:DIALOGUES])))
    shutil.copy(ROOT / "examples" / "intents.jsonl.gz", tmp_path / "examples")
    script = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    env = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=env, capture_output=True
    )
    assert run.returncode == 0, run.stderr.decode()
    gate = run.stdout.decode().splitlines()[-1]
    assert '"baseline":"before"' in gate and '"p":' in gate, "the gate tests pair by pair"

"""What the fuzzer found: `small_cases.toml`, each case a line of shell, and how it is to end."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

CASES = tomllib.loads(Path(__file__).with_name("small_cases.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("title", CASES)
def test_a_case(
    title: str, scripts: Path, installed: Path, environment: dict[str, str], tmp_path: Path
):
    case = CASES[title]
    command = ["bash", "-o", "pipefail", "-c", case["run"]]
    here = environment | {"PATH": f"{scripts}:{installed}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, timeout=600)
    said = done.stderr.decode("utf-8", "surrogateescape")
    assert done.returncode == case["status"], said
    for part in case["says"] if isinstance(case["says"], list) else [case["says"]]:
        assert part in said
    if "writes" in case:
        assert done.stdout.decode() == case["writes"]
    assert "defect" not in said and "Traceback" not in said and "Warning" not in said
    assert all(line.isprintable() for line in said.splitlines())
    assert sum(not line.startswith("  ") for line in said.splitlines()) <= case.get("lines", 1)

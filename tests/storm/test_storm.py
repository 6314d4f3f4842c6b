"""A handful of kills with every run of the tests; `make storm` blows longer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_commands_that_were_killed_end_as_those_that_were_not(scripts: Path):
    jobs = ("pairs", "freq annotate to arrow", "train stdin")
    command = [sys.executable, Path(__file__).parent, "--server", scripts, "--kills", "8"]
    done = subprocess.run([*command, "--only", *jobs], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "; 0 findings;" in done.stdout

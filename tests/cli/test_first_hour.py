"""The page of the first hour: its commands run as printed, one by one, and say what it shows."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "first-hour.md").read_text()
BEFORE_A_MODEL, SINCE = PAGE.split("## A model")


def blocks(page: str, kind: str) -> str:
    return "".join(re.findall(rf"^```{kind}\n(.*?)^```", page, re.DOTALL | re.MULTILINE))


def shown(page: str, *, digits: str) -> list[re.Pattern[str]]:
    """Return a pattern of each line of output shown: … is what was left out, blanks are alike."""
    lines = [re.escape(line.strip()) for line in blocks(page, "text").splitlines()]
    lines = [re.sub(r"(\\ )+", r"\\s+", line).replace("…", ".*") for line in lines]
    return [re.compile(re.sub(r"\d", lambda digit: digits or digit[0], line)) for line in lines]


def on_a_terminal(script: str, cwd: Path, env: dict[str, str]) -> tuple[int, str]:
    """Run a script of bash on a wide terminal; return its status and what a person sees."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, 200))
    line = ["bash", "-euo", "pipefail", "-c", script]
    run = subprocess.Popen(line, cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = bytearray()
    try:
        while piece := os.read(ours, 1 << 16):
            seen += piece
    except OSError:  # how Linux says that nobody writes to a terminal any more
        pass
    os.close(ours)
    return run.wait(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode()).replace("\r", "\n")


@pytest.mark.slow
def test_every_command_of_the_first_hour_runs_as_printed_and_says_what_is_shown(
    tmp_path: Path, scripts: Path, installed: Path
):
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "log.csv.gz", tmp_path / "examples")
    # python is the one that the commands run in
    env = {**os.environ, "PATH": f"{scripts}:{installed}:{os.environ['PATH']}"}
    env |= {"OMP_NUM_THREADS": "1", "TERM": "xterm"}
    status, seen = on_a_terminal(blocks(PAGE, "sh"), tmp_path, env)
    assert status == 0, seen
    # what is learnt differs in its last digits from processor to processor
    for line in shown(BEFORE_A_MODEL, digits="") + shown(SINCE, digits=r"\d"):
        assert line.search(seen), f"not said: {line.pattern}"

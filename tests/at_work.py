"""Commands at work: run to their end, waited for, and broken off by a signal."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any


def ended(*command: object, code: int = 0, **more: Any) -> subprocess.CompletedProcess[Any]:
    """Run a command to its end, which has the status `code`; else what it said is shown.

    Args:
        more: of `subprocess.run`.
    """
    done = subprocess.run(list(map(str, command)), capture_output=True, **more)
    assert done.returncode == code, done.stderr
    return done


def until(process: subprocess.Popen, happened: Callable[[], object]) -> None:
    """Wait for something that a process does; it must not end before."""
    deadline = time.monotonic() + 300
    while not happened() and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.005)


def await_content(path: Path, writer: subprocess.Popen) -> None:
    """Wait until something stands in a file, or its writer has ended, for two minutes at most."""
    end = time.monotonic() + 120
    while writer.poll() is None and time.monotonic() < end:
        if path.exists() and path.stat().st_size:
            return
        time.sleep(0.002)


def broken_off(
    command: Sequence[object],
    happened: Callable[[], object],
    number: int = signal.SIGKILL,
    **more: Any,
) -> bytes:
    """End a command by a signal once something has happened; return what it said on stderr.

    Args:
        more: of `Popen`.
    """
    process = subprocess.Popen(list(map(str, command)), stdout=PIPE, stderr=PIPE, **more)
    until(process, happened)
    process.send_signal(number)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == -number
    return said


def lines(path: Path) -> int:
    """Return how many lines a file has, -1 of one that is not there yet."""
    return path.read_bytes().count(b"\n") if path.exists() else -1


def logged(model: Path) -> int:
    """Return how many lines the log has of the run that makes a model."""
    return lines(model.with_name(f"{model.name}.partial") / "train-log.jsonl")

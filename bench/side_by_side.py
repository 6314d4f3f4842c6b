"""Time two things in turn, A B A B, and print medians and their ratio."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SCRIPTS = Path(sys.executable).parent


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def command(*words: object, **environment: str) -> Callable[[], None]:
    """Return a call that runs a command, its output thrown away."""
    environment = {**os.environ, **environment}
    return lambda: subprocess.run(
        list(map(str, words)),
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )  # type: ignore[return-value]


def compare(rows: dict[str, Callable[[], object]], *, peer: str, runs: int) -> None:
    """Run every row `runs` times in turn after a warm-up; print the medians beside the peer's."""
    times: dict[str, list[float]] = {name: [] for name in rows}
    for run in range(runs + 1):
        for name, work in rows.items():
            taken = seconds(work)
            if run:
                times[name].append(taken)
    base = statistics.median(times[peer])
    for name, taken in times.items():
        median = statistics.median(taken)
        print(
            f"{name:46} {median:8.2f} s  ({min(taken):.2f} - {max(taken):.2f})  {base / median:5.2f} x {peer}"
        )


def peak_mebibytes() -> float:
    """Return the largest resident size of a child so far."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024

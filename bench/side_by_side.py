"""Time things in turn, A B A B, and print medians and their ratio."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(sys.executable).parent
MEBIBYTE = 1024  # what Linux counts peak memory in, times this

# a call may return its peak memory in MiB; what else it returns is not looked at
Work = Callable[[], object]


class Run(NamedTuple):
    """What a run took; MiB only of commands."""

    seconds: float
    mebibytes: float | None


def measured(work: Work) -> Run:
    """Return what a call takes."""
    start = time.perf_counter()
    peak = work()
    return Run(time.perf_counter() - start, peak if isinstance(peak, float) else None)


def command(*words: object, **environment: str) -> Callable[[], float]:
    """Return a call that runs a command, its output thrown away, and returns its peak memory.

    The peak is that of the largest process of the command, in MiB.
    """

    def work() -> float:
        process = subprocess.Popen(
            [str(word) for word in words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}: status {process.returncode}")
        return usage.ru_maxrss / MEBIBYTE

    return work


def compare(
    rows: Mapping[str, Work],
    *,
    peer: str,
    runs: int,
    measure: Callable[[Work], Run] = measured,
) -> None:
    """Run every row `runs` times in turn after a warm-up; print the medians beside the peer's.

    Args:
        measure: what a call took; without it, its whole time.
    """
    taken: dict[str, list[Run]] = {name: [] for name in rows}
    for number in range(runs + 1):
        for name, work in rows.items():
            run = measure(work)
            if number:
                taken[name].append(run)
    base = median(taken[peer])
    for name, own in taken.items():
        print(f"{name:46} {row(own)}  {base / median(own):5.2f} x {peer}")


def median(runs: list[Run]) -> float:
    return statistics.median(run.seconds for run in runs)


def row(runs: list[Run]) -> str:
    """Return the figures of a row: median, least and most seconds, peak memory if it is known."""
    seconds = [run.seconds for run in runs]
    text = f"{median(runs):8.2f} s  ({min(seconds):.2f} - {max(seconds):.2f})"
    peaks = [run.mebibytes for run in runs if run.mebibytes is not None]
    return f"{text}  {max(peaks):7,.0f} MiB" if peaks else text

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

# Python's bytecode is kept, as that of an installed package is
KEPT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Usage(NamedTuple):
    """What a command took: CPU seconds of all its processes, MiB of the largest of them."""

    processor: float
    mebibytes: float


# a call may return its Usage; what else it returns is not looked at
Work = Callable[[], object]


class Run(NamedTuple):
    """What a run took; its usage only of commands."""

    seconds: float
    usage: Usage | None = None


def measured(work: Work) -> Run:
    """Return what a call takes."""
    start = time.perf_counter()
    usage = work()
    return Run(time.perf_counter() - start, usage if isinstance(usage, Usage) else None)


def command(*words: object, cwd: Path | None = None, **environment: str) -> Callable[[], Usage]:
    """Return a call that runs a command, its output thrown away, and returns what it took."""
    line, variables = [str(word) for word in words], {**KEPT, **environment}

    def work() -> Usage:
        process = subprocess.Popen(line, cwd=cwd, env=variables, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(line)}: status {process.returncode}")
        return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MEBIBYTE)

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
    """Return the figures of a row: seconds (median, least, most); of commands CPU and memory."""
    seconds = [run.seconds for run in runs]
    text = f"{median(runs):8.2f} s  ({min(seconds):.2f} - {max(seconds):.2f})"
    usages = [run.usage for run in runs if run.usage]
    if not usages:
        return text
    processor = statistics.median(usage.processor for usage in usages)
    return f"{text}  CPU {processor:6.2f} s {max(usage.mebibytes for usage in usages):7,.0f} MiB"

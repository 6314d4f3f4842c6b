"""Many cases, one after another, and what came of them."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.bench import Bench
from fuzz.families import drawn_case
from fuzz.findings import Findings

TOLD_EVERY = 60
"""Seconds."""


@dataclass
class Tally:
    """What was tried."""

    inputs: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    places: dict[str, str] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        for mine, theirs in zip(self.counters, other.counters, strict=True):
            mine.update(theirs)
        self.places = other.places | self.places

    @property
    def counters(self) -> tuple[Counter, ...]:
        return self.inputs, self.runs, self.statuses, self.seen


def work(options: argparse.Namespace, job: int) -> Tally:
    """Run every case of a job: the numbers that leave `job` when divided by all jobs."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    bench = Bench(Path(tempfile.mkdtemp(prefix="dial-fuzz-", dir=memory)))
    tally = tried(bench, options, job)
    bench.close()
    return tally


def tried(bench: Bench, options: argparse.Namespace, job: int = 0) -> Tally:
    """Run every case of a job on a bench, which several campaigns may share."""
    tally = Tally()
    found = Findings(bench, options.to)
    began = told = time.monotonic()
    last = options.first + options.cases if options.cases else sys.maxsize
    for number in range(options.first + job, last, options.jobs):
        now = time.monotonic()
        if now > began + 60 * options.minutes:
            break
        if now > told + TOLD_EVERY:
            told = now
            tell(f"job {job}: {tally.inputs.total():,} inputs, {len(found.found)} findings")
        case = drawn_case(options.seed, number, bench.make_model, options.family)
        outcome = bench.run(case)
        found.look(case, outcome, f"{options.seed}/{number}")
        tally.inputs[case.family] += case.inputs
        tally.runs[case.family] += 1
        tally.statuses[case.title, outcome.ended.status] += 1
    tally.seen = Counter({what: finding.seen for what, finding in found.found.items()})
    tally.places = {what: finding.slug for what, finding in found.found.items()}
    return tally


def tell(line: str) -> None:
    sys.stderr.write(f"fuzz: {line}\n")


def report(tally: Tally, folder: Path) -> None:
    """Print what was tried, how commands ended, and what was found."""
    for family, runs in tally.runs.most_common():
        print(f"{family:<12}{tally.inputs[family]:>10,} inputs {runs:>9,} runs")
    print(f"{'all':<12}{tally.inputs.total():>10,} inputs {tally.runs.total():>9,} runs\n")
    statuses = sorted({status for _, status in tally.statuses})
    print(f"{'exit status':<20}" + "".join(f"{status:>8}" for status in statuses))
    for title in sorted({title for title, _ in tally.statuses}):
        counts = (tally.statuses[title, status] for status in statuses)
        print(f"{title:<20}" + "".join(f"{count or '':>8}" for count in counts))
    print(f"\n{len(tally.seen)} findings")
    for what, count in tally.seen.most_common():
        print(
            f"{count:>6} x {ascii(what)[1:-1]}\n         bash {folder}/{tally.places[what]}/run.sh"
        )

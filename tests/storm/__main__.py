"""Stop commands at random moments, let them go on, and compare with runs that nobody stopped.

  python tests/storm --kills 100 --seed 0 --jobs 1
  python tests/storm --seed 0 --case 17

See README.md beside this file.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cases import Storm
from checks import Case
from jobs import JOBS
from machines import warm
from stop import MOMENTS, STARTING


def report(cases: list[Case], seconds: float) -> None:
    """Print the stops by command, signal and moment."""
    stops = Counter(stop for case in cases for stop in case.stops)
    columns = [*MOMENTS, STARTING]
    print(f"{'command':14} signal " + " ".join(f"{name:>14}" for name in columns))
    for command, name in sorted({stop[:2] for stop in stops}):
        counts = " ".join(f"{stops[command, name, column]:14}" for column in columns)
        print(f"{command:14} {name:6} {counts}")
    total, late = stops.total(), sum(case.late for case in cases)
    findings = sum(len(case.findings) for case in cases)
    print(
        f"{total} kills of {len(cases)} jobs, {late} more came too late; "
        f"{findings} findings; {seconds:.0f} s, {60 * total / max(seconds, 1):.0f} kills a minute"
    )


def blow(storm: Storm, names: list[str], kills: int, jobs: int) -> list[Case]:
    """Run cases, so many at once, until there were enough kills."""
    cases: list[Case] = []
    numbers = iter(range(1 << 40))

    def work() -> None:
        while sum(len(case.stops) for case in cases) < kills:
            with storm.lock:
                number = next(numbers)
            case = storm.case(number, names)
            cases.append(case)
            for finding in case.findings:
                print(f"case {number}: {finding}", flush=True)
            if not len(cases) % 50:
                print(f"{sum(len(c.stops) for c in cases)} kills", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(work) for _ in range(jobs)]:
            done.result()
    return cases


@contextmanager
def import_server(folder: Path) -> Iterator[Path]:
    """Yield the folder of an import server that runs while the block does."""
    folder.mkdir()
    process = warm.start(folder)
    try:
        yield folder
    finally:
        process.kill()
        process.wait()


def cases_of(options: argparse.Namespace, folder: Path, server: Path) -> list[Case]:
    """Run what was asked for, and report it."""
    names = [name for name in JOBS if name.startswith(tuple(options.only))]
    storm = Storm(folder, server, options.seed)
    storm.prepare(names)
    began = time.monotonic()
    if options.case is None:
        cases = blow(storm, names, options.kills, options.jobs)
    else:
        cases = [storm.case(options.case, names)]
        print(*cases[0].story, *cases[0].findings, sep="\n")
    report(cases, time.monotonic() - began)
    if options.keep:
        for path in folder.glob("case-*"):
            shutil.copytree(path, options.keep / path.name)
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="cases at once")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument("--only", nargs="+", default=[""], help="jobs whose names begin so")
    parser.add_argument("--server", type=Path, help="the folder of an import server that runs")
    parser.add_argument("--keep", type=Path, help="a folder for the cases with findings")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storm-") as name:
        folder = Path(name)
        own = import_server(folder / "server")
        with nullcontext(options.server) if options.server else own as server:
            cases = cases_of(options, folder, server)
    sys.exit(any(case.findings for case in cases))


if __name__ == "__main__":
    main()

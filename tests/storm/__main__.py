"""Stop commands at random moments, let them go on, and compare with runs that nobody stopped.

  python tests/storm --kills 100 --seed 0 --jobs 1
  python tests/storm --seed 0 --case 17

See README.md beside this file.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from calls import Place
from jobs import GROWING, JOBS, Job, content, write_inputs
from machines import warm
from stop import LOOK, MOMENTS, STARTING, Running, Usual, starting

SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
PATIENCE = 120  # seconds that a run may take, or take to end
AGAIN = 0.4  # how often a job that was stopped is stopped once more
MOST = 5
COLD = 0.08  # how often a command starts as installed, and is stopped while it imports


@dataclass
class Reference:
    """What a job comes to when nobody stops it."""

    content: dict[str, bytes]
    stdout: bytes
    usual: Usual


@dataclass
class Case:
    """A job that is stopped some times and then runs to its end, by a number of its own.

    Attributes:
        stops: job, signal and moment of each stop that met the job at work.
        findings: what is not as it should be.
    """

    number: int
    name: str
    draw: random.Random
    place: Place
    story: list[str] = field(default_factory=list)
    stops: list[tuple[str, str, str]] = field(default_factory=list)
    late: int = 0
    findings: list[str] = field(default_factory=list)

    @property
    def job(self) -> Job:
        return JOBS[self.name]

    def find(self, what: str) -> None:
        self.findings.append(f"{self.name}: {what} [{'; '.join(self.story)}]")


class Storm:
    """Runs cases; holds the inputs, and what each job comes to.

    Args:
        folder: where inputs and cases are to stand.
        server: the folder of an import server.
        seed: of all that is drawn.
    """

    def __init__(self, folder: Path, server: Path, seed: int) -> None:
        self.folder, self.server, self.seed = folder, server, seed
        self.inputs = folder / "in"
        self.references: dict[str, Reference] = {}
        self.lock = threading.Lock()

    def prepare(self, names: list[str]) -> None:
        """Start the server, make the inputs, and run each job once."""
        warm.wait(self.server, 600)
        self.inputs.mkdir()
        write_inputs(
            self.inputs,
            lambda words: (
                subprocess.run([self.server / words[0], *words[1:]], cwd=self.inputs, check=True)
                and None
            ),
        )
        for name in names:
            self.reference(name)

    def reference(self, name: str) -> Reference:
        """Return what a job comes to; the first to ask lets it run."""
        with self.lock:
            if name not in self.references:
                place = Place(self.folder / f"whole-{len(self.references)}")
                self.references[name] = self.unbroken(JOBS[name], place)
                shutil.rmtree(place.folder)
            return self.references[name]

    def unbroken(self, job: Job, place: Place) -> Reference:
        running = self.start(job, place)
        changes, before = 0, place.names()
        while running.status is None:
            running.status = running.call.wait(LOOK)
            now = place.names()
            changes, before = changes + (now != before), now
        seconds = time.monotonic() - running.begun
        said = place.stderr.read_text()
        if running.status != job.status or place.processes():
            raise SystemExit(f"{job.line}: status {running.status}, {said}")
        return Reference(content(place.out), place.stdout.read_bytes(), Usual(seconds, changes))

    def start(self, job: Job, place: Place, *more: str, cold: bool = False) -> Running:
        words = [*job.words(self.inputs), *more]
        stdin = self.inputs / job.reads if job.reads else "/dev/null"
        begun = time.monotonic()
        call = place.start(words, None if cold else self.server, stdin)
        return Running(call, place, begun)

    def case(self, number: int, names: list[str]) -> Case:
        """Stop a job some times, let it come to its end, and look at what is there."""
        draw = random.Random(f"{self.seed}:{number}")
        place = Place(self.folder / f"case-{number}")
        case = Case(number, draw.choice(names), draw, place)
        whole = self.reference(case.name)
        for attempt in range(MOST):
            if attempt and draw.random() > AGAIN:
                break
            self.stop(case, whole, more=[case.job.again] * bool(attempt and case.job.again))
            if case.findings:
                break
        if not case.findings:
            self.complete(case, whole)
        if not case.findings:
            shutil.rmtree(place.folder)
        return case

    def stop(self, case: Case, whole: Reference, more: list[str]) -> None:
        """Run the job and stop it once; check what a stopped run leaves."""
        draw, place = case.draw, case.place
        name = draw.choice(list(SIGNALS))
        number = SIGNALS[name]
        cold = draw.random() < COLD
        phase = STARTING if cold else draw.choice(list(MOMENTS))
        wait = starting if cold else MOMENTS[phase]
        running = self.start(case.job, place, *more, cold=cold)
        at_work = wait(running, whole.usual, draw)
        moment = time.monotonic() - running.begun
        if at_work:
            running.call.send(number)
            running.until(moment + PATIENCE)
        case.story.append(f"{name} {phase} {moment:.3f} s: {running.status}")
        if running.status is None:
            case.find("does not end")
            running.call.send(signal.SIGKILL)
            return
        met = running.status == -number
        if met:
            case.stops.append((case.job.command, name, phase))
        elif running.status == case.job.status:
            case.late += 1
        else:
            case.find(f"status {running.status} after SIG{name}")
        said = place.stderr.read_text().strip()
        if said and not (cold and before_ours(said)):
            case.find(f"says {said[-600:]!r}")
        if left := place.left():
            case.find(f"processes {left} left")
        look_at_stopped(case, whole)

    def complete(self, case: Case, whole: Reference) -> None:
        """Let the job run to its end; it must have come to what it comes to."""
        place = case.place
        more = [case.job.again] if case.job.again and case.story else []
        running = self.start(case.job, place, *more)
        if running.until(PATIENCE):
            running.call.send(signal.SIGKILL)
            case.find("the last run does not end")
            return
        case.story.append(f"last run: {running.status}")
        said = place.stderr.read_text().strip()
        if running.status != case.job.status or said:
            case.find(f"the last run says {said[-600:]!r}, status {running.status}")
            return
        compare(case, whole)


def before_ours(said: str) -> bool:
    """Tell whether Python was interrupted before the first lines of ours had ended."""
    places = re.findall(r"dialtools/cli/(\w+)\.py", said)
    return said.endswith("KeyboardInterrupt") and set(places) <= {"__init__"}


def look_at_stopped(case: Case, whole: Reference) -> None:
    """Check that outputs are whole or not there, and what may lie beside them."""
    there = content(case.place.out)
    for name, found in there.items():
        grows = any(fnmatch(name, pattern) for pattern in GROWING)
        if not grows and found != whole.content.get(name, found):
            case.find(f"{name} stands there, and is not whole")
    if case.job.tells:
        told = case.place.stdout.read_bytes()
        if not whole.stdout.startswith(told.rpartition(b"\n{")[0]):
            case.find("stdout is not a beginning of what comes")
    if any(name == "KILL" for _, name, _ in case.stops):  # what that leaves goes in the end
        return
    resumable = case.job.again == "--resume"
    rest = {name.split("/")[0] for name in there} - {n.split("/")[0] for n in whole.content}
    if beside := sorted(n for n in rest if not (resumable and n.endswith(".partial"))):
        case.find(f"leaves {beside}")
    if temporary := case.place.temporary():
        case.find(f"leaves {temporary} in $TMPDIR")


def compare(case: Case, whole: Reference) -> None:
    """Check what the last run has made against a run that nobody stopped."""
    there, place = content(case.place.out), case.place
    for name in sorted(there.keys() | whole.content.keys()):
        if name not in whole.content:
            case.find(f"leaves {name} in the end")
        elif name not in there:
            case.find(f"{name} is not there in the end")
        elif there[name] != whole.content[name]:
            case.find(f"{name} differs from that of an unbroken run")
    if place.stdout.read_bytes() != whole.stdout and case.job.again != "--resume":
        case.find("stdout differs from that of an unbroken run")
    if temporary := place.temporary():
        case.find(f"leaves {temporary} in $TMPDIR in the end")
    if left := place.left():
        case.find(f"processes {left} left in the end")


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="cases at once")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument(
        "--only", default="", help="only jobs whose name begins so; " + ", ".join(JOBS)
    )
    parser.add_argument("--keep", type=Path, help="a folder for the cases with findings")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="storm-"))
    names = [name for name in JOBS if name.startswith(options.only)]
    (folder / "server").mkdir()
    server = warm.start(folder / "server")
    try:
        storm = Storm(folder, options.seed)
        storm.prepare([] if options.case is not None else names)
        began = time.monotonic()
        if options.case is not None:
            cases = [storm.case(options.case, names)]
            print(*cases[0].story, *cases[0].findings, sep="\n")
        else:
            cases = blow(storm, names, options.kills, options.jobs)
        report(cases, time.monotonic() - began)
        if options.keep:
            for path in folder.glob("case-*"):
                shutil.copytree(path, options.keep / path.name)
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(any(case.findings for case in cases))


if __name__ == "__main__":
    main()

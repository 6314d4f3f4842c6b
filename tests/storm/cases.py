"""A case: a job of the table that is stopped some times, and then runs to its end."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from calls import Place
from checks import Case, Reference, before_ours, compare, look_at_stopped
from jobs import JOBS, Job, content, write_inputs
from machines import warm
from stop import LOOK, MOMENTS, STARTING, Running, Usual, starting

SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
PATIENCE = 120  # seconds that a run may take, or take to end
AGAIN = 0.4  # how often a job that was stopped is stopped once more
MOST = 5
COLD = 0.08  # how often a command starts as installed, and is stopped while it imports


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
        write_inputs(self.inputs, self.make_input, names)
        for name in names:
            self.reference(name)

    def make_input(self, words: list[str]) -> None:
        command = [self.server / words[0], *words[1:]]
        subprocess.run(command, cwd=self.inputs, check=True, stdout=subprocess.DEVNULL)

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
            self.stop(case, whole)
            if case.findings:
                break
        if not case.findings:
            self.complete(case, whole)
        if not case.findings:
            shutil.rmtree(place.folder)
        return case

    def stop(self, case: Case, whole: Reference) -> None:
        """Run the job and stop it once; check what a stopped run leaves."""
        draw, place = case.draw, case.place
        name = draw.choice(list(SIGNALS))
        number = SIGNALS[name]
        cold = draw.random() < COLD
        phase = STARTING if cold else draw.choice(list(MOMENTS))
        wait = starting if cold else MOMENTS[phase]
        running = self.start(case.job, place, *case.again(), cold=cold)
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
        said = place.stderr.read_text().strip()
        python = cold and before_ours(said)
        if running.status == -number or (python and running.status):
            case.stops.append((case.job.command, name, phase))
        elif running.status == case.job.status:
            case.late += 1
        else:
            case.find(f"status {running.status} after SIG{name}")
        if said and not python:
            case.find(f"says {said[-600:]!r}")
        if left := place.left():
            case.find(f"processes {left} left")
        look_at_stopped(case, whole)

    def complete(self, case: Case, whole: Reference) -> None:
        """Let the job run to its end; it must have come to what it comes to."""
        place = case.place
        running = self.start(case.job, place, *case.again())
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

"""What must hold of a job that was stopped, and of one that has come to its end."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from fnmatch import fnmatch

from calls import Place
from jobs import GROWING, JOBS, Job, content
from stop import Usual


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

    def again(self) -> list[str]:
        """Return what is added to the command line of the next run."""
        return [self.job.again] if self.job.again and self.story else []

    def find(self, what: str) -> None:
        self.findings.append(f"{self.name}: {what} [{'; '.join(self.story)}]")


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

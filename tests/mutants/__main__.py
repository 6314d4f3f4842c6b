"""Put faults into files, one at a time, and print those that no test notices.

  python tests/mutants 'dialtools/metrics/*.py' --count 50 --seed 0
  python tests/mutants --faults tests/mutants/known.txt

See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import faults
import machine
import pytest
import seen
from faults import BETWEEN, Fault

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
ALSO = {
    "encoder": ("train", "embed", "hostile/test_models.py"),
    "streams": (
        *("pairs", "freq", "augment", "embed"),
        *("hostile/test_unpacked.py", "hostile/test_json.py", "hostile/test_full_disk.py"),
    ),
    "corpora": ("pairs",),
    **dict.fromkeys(("pairs", "freq", "augment"), ("streams/test_parts.py",)),
    "embed": ("streams/test_parts.py", "near/test_search.py"),
    "plots": ("cli",),
}
"""Rooms and files of tests that are the tests of another room too."""
PAGES = ("tests/cli/test_documents.py", "tests/cli/test_options.py")
"""Man pages and completions tell names, defaults and choices of files; options have bounds."""
TOLD = re.compile("option|catalog|recipe|formats")
"""Files that pages tell of."""
SLACK, TIMES = 60, 20  # seconds, and times what its tests take without it, that a fault may take


@dataclass(frozen=True)
class Result:
    """What became of a fault: `by` is the test that noticed it, or nothing."""

    fault: str
    room: str
    noticed: bool
    by: str
    tests: int


class Chosen:
    """A plug-in of pytest that runs some tests, in the order given, and notes the first failure."""

    def __init__(self, tests: list[str], note: Path) -> None:
        self.place = {test: i for i, test in enumerate(tests)}
        self.note = note
        note.write_text("")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.place]
        items.sort(key=lambda item: self.place[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.note.write_text(report.nodeid)


def main() -> int:
    options = arguments().parse_args()
    wanted = list(listed(options.faults) if options.faults else drawn(options))
    paths = options.tests or sorted({test for fault in wanted for test in tests_near(fault.path)})
    machine.import_all()
    # no TemporaryDirectory: commands in forks run what is registered for the exit, and remove it
    folder = Path(tempfile.mkdtemp(prefix="dial-mutants-"))
    try:
        done = attempt_all(wanted, paths, folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if len(done) != len(wanted):
        print("not every fault was tried", file=sys.stderr)
        return 2
    return report(done, options.score)


def attempt_all(
    wanted: list[Fault], paths: list[str], folder: Path, options: argparse.Namespace
) -> list[Result]:
    """Try every fault in as many processes as there are jobs."""
    with machine.copy_of_repository(folder / "seen") as copy:
        tests = seen.tests_of(copy, paths, quick=options.quick)
    results = folder / "results"
    results.touch()
    workers = [
        _worker(folder / str(i), wanted[i :: options.jobs], tests, options, results)
        for i in range(options.jobs)
    ]
    for worker in workers:
        os.waitpid(worker, 0)
    return [Result(**json.loads(line)) for line in results.read_text().splitlines()]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("files", nargs="*", help="globs of files to put faults into")
    parser.add_argument("--count", type=int, default=50, help="faults, at most one a line")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", type=Path, help="a list of faults to put in, instead of FILES")
    parser.add_argument("--tests", nargs="*", help="files or folders of tests; else the room's")
    parser.add_argument("--score", type=float, default=0, help="exit 1 if a room has less, percent")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=90, help="of tests for a fault at most")
    parser.add_argument("--quick", action="store_true", help="without tests that start commands")
    parser.add_argument("--verbose", action="store_true", help="print what is noticed, and by what")
    return parser


def drawn(options: argparse.Namespace) -> Iterator[Fault]:
    """Yield COUNT faults of the chosen files, at most one a line."""
    passed_over = equivalent()
    by_line: dict[tuple[str, int], list[Fault]] = defaultdict(list)
    programs: dict[str, CodeType] = {}
    for pattern in options.files:
        for path in sorted(machine.ROOT.glob(pattern)):
            name = str(path.relative_to(machine.ROOT))
            source = path.read_text(encoding="utf-8")
            programs[name] = faults.compiled(source)
            for fault in faults.find(name, source):
                by_line[name, fault.line].append(fault)
    chance = random.Random(options.seed)
    lines = sorted(by_line)
    chance.shuffle(lines)
    for line in lines:
        fault = chance.choice(by_line[line])
        if options.count == 0:
            return
        if fault.name not in passed_over and fault.makes_another(programs[fault.path]):
            options.count -= 1
            yield fault


def equivalent() -> set[str]:
    """Return the names of the faults that change nothing that can be seen."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if BETWEEN in line and not line.startswith(("#", " "))}


def listed(path: Path) -> Iterator[Fault]:
    """Yield the faults of a list: `file  before  ->  after`, whole lines, white space folded."""
    for row in path.read_text(encoding="utf-8").splitlines():
        if row.startswith(("#", " ")) or BETWEEN not in row:
            continue
        name, change = row.split("  ", 1)
        before, after = change.split(BETWEEN)
        source = (machine.ROOT / name).read_text(encoding="utf-8")
        lines = source.splitlines(keepends=True)
        found = [i for i, line in enumerate(lines) if " ".join(line.split()) == before]
        if len(found) != 1:
            print(f"{len(found)} lines are as this one has it: {row}", file=sys.stderr)
            continue
        text = lines[found[0]]
        lines[found[0]] = text[: len(text) - len(text.lstrip())] + after + "\n"
        scopes = [f.scope for f in faults.find(name, source) if f.line == found[0] + 1]
        scope = max(scopes, key=len, default="")
        yield Fault(name, found[0] + 1, scope, before, after, "".join(lines))


def tests_near(path: str) -> list[str]:
    """Return the folders and files of tests that concern a file."""
    room = Path(path).parts[1]
    names = (room, *ALSO.get(room, ()))
    near = [f"tests/{name}" for name in names if (machine.ROOT / "tests" / name).exists()]
    return near + [*PAGES] * bool(TOLD.search(path)) or ["tests"]


def _worker(
    home: Path,
    share: list[Fault],
    tests: dict[str, seen.Test],
    options: argparse.Namespace,
    results: Path,
) -> int:
    """Try a share of the faults in a process; return its number."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        with machine.copy_of_repository(home) as copy, results.open("a") as file:
            for fault in share:
                result = attempt(copy, fault, chosen(fault, tests, options.seconds), tests)
                file.write(json.dumps(vars(result)) + "\n")
                file.flush()
                if options.verbose or not result.noticed:
                    how = f"noticed by {result.by}" if result.noticed else "NOT NOTICED"
                    print(f"{fault}\n    {how} ({result.tests} tests)", flush=True)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def chosen(fault: Fault, tests: dict[str, seen.Test], seconds: float) -> list[str]:
    """Return the tests that run the function of a fault, quick ones first, for so many seconds.

    Of a fault at module level, those that run a function of its file, or whose file imports it;
    those of the pages too, if they tell of that file.
    """
    function = f"{fault.path}:{faults.function_of(fault.scope)}"
    near = {name for name, test in tests.items() if function in test.functions}
    if not near:
        module = ".".join(Path(fault.path).with_suffix("").parts[-2:])
        runs = re.compile(rf"{re.escape(fault.path)}:(?!<module>)").match
        near = {
            name
            for name, test in tests.items()
            if module in seen.text_of(name)
            or any(map(runs, test.functions))
            or (name.startswith(PAGES) and TOLD.search(fault.path))
        }
    in_order = sorted(near or tests, key=lambda name: tests[name].seconds)
    left, few = seconds, []
    for name in in_order:
        left -= tests[name].seconds
        if left > 0 or not few:
            few.append(name)
    return few


def attempt(copy: Path, fault: Fault, few: list[str], tests: dict[str, seen.Test]) -> Result:
    """Put a fault in, run the tests until one fails, and take it out again."""
    path, note = copy / fault.path, copy.parent / "noticed"
    original = path.read_text(encoding="utf-8")
    files = sorted({test.split("::")[0] for test in few})
    plugin = Chosen(few, note)

    commands = any(tests[test].commands for test in few)

    def work() -> int:
        run = ["-x", "--tb=short", *files]
        return machine.pytest_in(copy, run, [plugin], commands=commands)

    patience = SLACK + TIMES * sum(tests[test].seconds for test in few)
    machine.write_source(path, fault.source)
    try:
        status = machine.in_fork(work, patience)
    finally:
        machine.write_source(path, original)
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise RuntimeError(f"{fault}: none of these tests is there: {few}")
    by = "its time" if status == machine.HANG else note.read_text() or f"status {status}"
    room = str(Path(fault.path).parent.relative_to("dialtools"))
    return Result(str(fault), room, status != 0, by if status else "", len(few))


def report(results: list[Result], score: float) -> int:
    """Print the survivors and the score of each room; return the exit status."""
    rooms: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        rooms[result.room].append(result.noticed)
    survivors = sorted(result.fault for result in results if not result.noticed)
    print("\nnot noticed:", *survivors or ["none"], "", sep="\n")
    below = 0
    for room, noticed in sorted(rooms.items()):
        percent = 100 * sum(noticed) / len(noticed)
        below += percent < score
        print(f"{room:20} {sum(noticed):4} of {len(noticed):4} noticed  {percent:5.1f} %")
    return int(below > 0)


if __name__ == "__main__":
    ended = main()
    sys.stdout.flush()
    os._exit(ended)  # taking down all that was imported takes seconds

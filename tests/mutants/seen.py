"""Which tests run which functions: recorded once for each file of tests, then remembered.

A record names functions, not lines, so that it outlives most changes of the code. Every process of
a test appends to one file the functions that it calls for the first time, so that nothing is lost
when one is killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import machine
import pytest

KEPT = machine.ROOT / ".cache" / "mutants" / "seen.json"
CUDA = "cuda_scripts"  # a server of CUDA devices is started anew for each fault: too slow
COMMANDS = "scripts"  # the fixture of tests that start commands
PATIENCE = 1800  # seconds for a file of tests without a fault


@dataclass
class Test:
    """What a test took and ran.

    Attributes:
        seconds: of a processor (of the clock, if it starts commands), with the fixtures that it was
            the first to use.
        commands: whether it starts commands on the import server.
        functions: as `dialtools/room/file.py:Class.method`.
    """

    seconds: float = 0.0
    commands: bool = False
    passed: bool = True
    functions: set[str] = field(default_factory=set)


class Recorder:
    """A plug-in of pytest that notes what runs under each test and each of its fixtures."""

    def __init__(self, copy: Path, left_out: set[str]) -> None:
        self.left_out = left_out
        self.home = f"{copy}/"
        self.file = os.open(copy.parent / "seen", os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_APPEND)
        self.known: set[int] = set()
        self.stack = ["import"]
        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def trace(self, frame: Any, event: str, argument: Any) -> None:
        """Note a call of a function that this process has not noted before."""
        code = frame.f_code
        if id(code) in self.known:
            return
        self.known.add(id(code))
        if code.co_filename.startswith(self.home + "dialtools/"):
            self.note("ran", f"{code.co_filename.removeprefix(self.home)}:{code.co_qualname}")

    def note(self, what: str, value: str) -> None:
        os.write(self.file, json.dumps([what, value]).encode() + b"\n")

    def enter(self, context: str) -> None:
        self.stack.append(context)
        self.known.clear()
        self.note("in", context)

    def leave(self) -> None:
        self.stack.pop()
        self.known.clear()
        self.note("in", self.stack[-1])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [i for i in items if self.left_out.isdisjoint(getattr(i, "fixturenames", ()))]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.enter(item.nodeid)
        self.note("test", item.nodeid)
        fixtures = getattr(item, "fixturenames", ())
        for name in fixtures:
            self.note("uses", name)
        clock = time.monotonic if COMMANDS in fixtures else time.process_time
        began = clock()
        result = yield
        self.note("took", str(clock() - began))
        self.leave()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        # one of a function is the test's own doing
        wide = fixturedef.scope != "function"
        if wide:
            self.enter(f"fixture {fixturedef.argname}")
        result = yield
        if wide:
            self.leave()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.note(report.outcome, report.nodeid)


def record(copy: Path, path: str, left_out: set[str]) -> dict[str, Test]:
    """Run a file of tests without a fault; return its tests that pass.

    Args:
        left_out: fixtures; tests that use one are not run.
    """

    def work() -> int:
        return machine.pytest_in(copy, [path, "--tb=short"], [Recorder(copy, left_out)])

    machine.in_fork(work, PATIENCE)
    tests: dict[str, Test] = {}
    uses: dict[str, set[str]] = defaultdict(set)
    ran: dict[str, set[str]] = defaultdict(set)
    context = test = ""
    for what, value in map(json.loads, (copy.parent / "seen").read_text().splitlines()):
        match what:
            case "in":
                context = value
            case "test":
                test = value
                tests[test] = Test()
            case "uses":
                uses[test].add(f"fixture {value}")
            case "ran":
                ran[context].add(value)
            case "took":
                tests[test].seconds += float(value)
            case "failed" | "skipped":
                tests[test].passed = False
        if what == "failed":
            print(f"fails without a fault, and is left out: {value}", file=sys.stderr)
    if not tests and not left_out & {COMMANDS}:
        print(f"{path}: no tests\n{(copy.parent / 'log').read_text()[-2000:]}", file=sys.stderr)
    for name, test in tests.items():
        test.commands = f"fixture {COMMANDS}" in uses[name]
        test.functions = ran[name].union(*(ran[fixture] for fixture in uses[name]))
    return {name: test for name, test in tests.items() if test.passed}


def tests_of(copy: Path, paths: list[str], *, quick: bool = False) -> dict[str, Test]:
    """Return the tests of files and folders, recorded where that was not done yet.

    Args:
        quick: without those that start commands.
    """
    left_out = {CUDA, COMMANDS} if quick else {CUDA}
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    found: dict[str, Test] = {}
    for file in sorted({file for path in paths for file in _files(path)}):
        text = file.read_bytes()
        name = str(file.relative_to(machine.ROOT))
        key = hashlib.sha256(text).hexdigest()
        if quick and kept.get(name, {}).get("key") != key:
            name += " quick"
        if kept.get(name, {}).get("key") != key:
            print(f"recording {name}", file=sys.stderr, flush=True)
            tests = record(copy, name.removesuffix(" quick"), left_out)
            rows = {n: vars(t) | {"functions": sorted(t.functions)} for n, t in tests.items()}
            kept[name] = {"key": key, "tests": rows}
            KEPT.parent.mkdir(parents=True, exist_ok=True)
            unfinished = KEPT.with_suffix(f".{os.getpid()}")
            unfinished.write_text(json.dumps(kept))
            unfinished.replace(KEPT)
        for test, facts in kept[name]["tests"].items():
            if not (quick and facts["commands"]):
                found[test] = Test(**facts | {"functions": set(facts["functions"])})
    return found


@cache
def text_of(test: str) -> str:
    """Return the text of a test's file."""
    return (machine.ROOT / test.split("::")[0]).read_text(encoding="utf-8")


def _files(path: str) -> list[Path]:
    whole = machine.ROOT / path
    return sorted(whole.rglob("test_*.py")) if whole.is_dir() else [whole]

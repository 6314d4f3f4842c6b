"""Run tests on a copy of the repository in a fork of a process that has imported everything else.

Importing torch and transformers takes seconds, a test a fraction of one. So one process imports all
that dialtools imports, forgets dialtools itself, and forks: a fork puts its copy first on the path
and runs pytest. The commands that tests call are forked by a fork of that fork, the import server
of tests/machines, which imports the copy too.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ("dialtools", "machines", "warm_server", "host_cuda")
NOT_COPIED = (".*", "build", "dist", "demo", "model", "*.egg-info")
MEMORY = 12 << 30  # bytes that a faulty program may ask for
FILE_SIZE = 2 << 30  # bytes of a file that it may write
BECOME_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: whom a fault orphans is ours to end
HANG = 124


def import_all() -> None:
    """Import what dialtools and the tests import, and forget dialtools."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "machines")]
    import hypothesis  # noqa: F401
    import pytest  # noqa: F401
    import warm_server

    warm_server.import_all()
    del sys.path[:2]
    for name in [name for name in sys.modules if name.split(".")[0] in OURS]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def copy_of_repository(home: Path) -> Iterator[Path]:
    """A copy to put faults into."""
    copy = home / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
    if (shared := ROOT.parent / "shared").is_dir() and not (home / "shared").exists():
        (home / "shared").symlink_to(shared)
    yield copy
    shutil.rmtree(home, ignore_errors=True)


def write_source(path: Path, source: str) -> None:
    """Write a file so that no compiled module of another text passes for it."""
    path.write_text(source, encoding="utf-8")
    os.utime(path, ns=(0, time.time_ns() // 10**9 * 10**9 - write_source.count * 10**9))
    write_source.count += 1


write_source.count = 0


def in_fork(work: Callable[[], int], seconds: float) -> int:
    """Return the status of work in a process of its own; HANG if it had to be ended.

    No process that it started outlives it.
    """
    ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)
    process = os.fork()
    if process == 0:
        status = 3
        try:
            os.setsid()
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    overdue = threading.Event()

    def end() -> None:
        overdue.set()
        os.kill(process, signal.SIGKILL)

    timer = threading.Timer(seconds, end)
    timer.start()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    timer.cancel()
    _end_orphans()
    return HANG if overdue.is_set() else status


def _end_orphans() -> None:
    me = os.getpid()
    while children := Path(f"/proc/{me}/task/{me}/children").read_text().split():
        for child in map(int, children):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def pytest_in(
    copy: Path, arguments: list[str], plugins: list[object], *, commands: bool = True
) -> int:
    """Run pytest on a copy; to be called in a fork.

    Args:
        commands: whether a test starts any, so that a server is needed.
    """
    import pytest

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
    scratch = copy.parent / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    os.chdir(copy)
    os.environ.update(TMPDIR=str(scratch), PYTHONPATH=str(copy))
    tempfile.tempdir = None  # noted before the fork: tests would share /tmp with all that runs
    sys.path[:0] = [str(copy), str(copy / "tests"), str(copy / "tests" / "machines")]
    log = os.open(copy.parent / "log", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    from machines import warm

    warm.start = _start_server if commands else _no_server
    own = ["-p", "no:cacheprovider", "-p", "no:xdist", "--basetemp", str(scratch / "pytest")]
    return int(pytest.main([*own, *arguments], plugins=plugins))


class _Server:
    """A forked import server, as far as tests/machines wants a Popen."""

    def __init__(self, process: int) -> None:
        self.pid = process

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        os.waitpid(self.pid, 0)


class _NoServer:
    """Where no test starts a command."""

    def kill(self) -> None:
        pass

    def wait(self) -> None:
        pass


def _no_server(folder: Path, **settings: str) -> _NoServer:
    return _NoServer()


def _start_server(folder: Path, **settings: str) -> _Server:
    """Stand in for `warm.start`: fork a server instead of importing everything again."""
    from machines import warm

    address = warm.write_commands(folder)
    process = os.fork()
    if process == 0:
        status = 1
        try:
            import warm_server

            warm_server.run(address)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return _Server(process)

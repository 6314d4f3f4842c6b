"""How commands end: by the signal that ended them, in silence, and with their children."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from at_work import ended

from dialtools.cli import _signals
from dialtools.errors import EXIT_CODES

TALK = b'{"id":"%d","turns":["how do you do %d","quite well %d","and you"]}\n'
COMMANDS = ("dial-pairs", "dial-augment", "dial-freq", "dial-train", "dial-embed", "dial-eval")


def talk(dialogues: int) -> bytes:
    return b"".join(TALK % (i, i, i) for i in range(dialogues))


def until(happened: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, as Linux tells them."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def listens(pid: int) -> bool:
    """Tell whether a process handles SIGTERM itself; where Linux does not tell, wait and hope."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        time.sleep(0.5)
        return True
    caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def workers(installed: Path, tmp_path: Path):
    """Start dial-pairs with three workers, which wait for more input; return it and theirs."""
    if not Path("/proc/self/task").exists():
        pytest.skip("needs Linux to tell a process's children")
    process = subprocess.Popen(
        [installed / "dial-pairs", "-q", "-j", "3", "-o", "pairs.jsonl"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdin
    process.stdin.write(talk(20_000))
    process.stdin.flush()
    until(lambda: len(children(process.pid)) == 3)
    yield process, children(process.pid)
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_workers_end_with_their_parent_however_it_ends(workers, number):
    process, theirs = workers
    process.send_signal(number)
    assert process.wait(60) == -number
    until(lambda: not any(map(runs, theirs)), 30)
    assert process.stderr.read() == b""


def test_a_dead_worker_is_told_as_one(workers, tmp_path):
    process, theirs = workers
    os.kill(theirs[1], signal.SIGKILL)
    _, said = process.communicate(talk(20_000), timeout=60)
    assert process.returncode == 1
    assert said.splitlines()[0] == b"dial-pairs: a worker process died"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["dial-pairs", "dial-freq", "dial-augment"])
def test_a_signal_ends_a_command_by_that_signal_in_silence(scripts, tmp_path, command, number):
    process = subprocess.Popen(
        [scripts / command, "-o", tmp_path / "out.jsonl"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdin
    process.stdin.write(b'{"text":"hello"}\n' if command != "dial-pairs" else talk(10))
    process.stdin.flush()
    until(lambda: listens(process.pid))
    time.sleep(0.2)
    process.send_signal(number)
    assert process.wait(60) == -number  # its input stays open: it cannot come to its end before
    assert (process.stderr.read(), list(tmp_path.iterdir())) == (b"", [])
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("click", "dial-freq"),
        ("duckdb", "dial-freq"),
        ("duckdb", "dial-pairs --unsorted --from csv -o out.jsonl"),
    ],
)
def test_a_signal_during_imports_ends_the_command_by_it_in_silence(
    installed, tmp_path, package, line, number
):
    """Those of the doorway, and those at work; what comes before both is Python's own start."""
    packages, here = tmp_path / "packages", tmp_path / "here"
    packages.mkdir(), here.mkdir()
    begun = tmp_path / "begun"
    slow = f"import time; open({str(begun)!r}, 'w').close(); time.sleep(60)"
    (packages / f"{package}.py").write_text(slow)
    path = f"{packages}:{os.environ.get('PYTHONPATH', '')}"
    command, *flags = line.split()
    process = subprocess.Popen(
        [installed / command, *flags],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=here,
        env={**os.environ, "PYTHONPATH": path},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdin
    process.stdin.write(b"dialogue_id,text\n1,hello\n1,how are you\n")
    process.stdin.close()
    until(begun.exists)
    assert bool(list(here.iterdir())) == ("-o" in flags)  # its output is begun
    process.send_signal(number)
    assert process.wait(60) == -number
    assert (process.stderr.read(), list(here.iterdir())) == (b"", [])
    process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_what_ended_a_command_that_fails_right_after_it(installed, tmp_path, number):
    """As at a Ctrl-C on `x | dial-pairs`: the input ends too, while imports put the signal off."""
    sends = f"import os; os.kill(os.getpid(), {int(number)})"
    (tmp_path / "duckdb.py").write_text(f"{sends}; raise ImportError('fails within the 50 ms')")
    done = subprocess.run(
        [installed / "dial-freq"],
        input=b'{"text":"hello"}\n',
        capture_output=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stdout, done.stderr) == (-number, b"", b"")


STOPPED_WITHIN = """
import os, signal, sys, tempfile
from dialtools.cli._exit import finish
from dialtools.streams.atomic import atomic_directory, atomic_file
from dialtools.streams.scraps import temporary_folder

def stop(frame, event, function):
    if event == sys.argv[1] and function.__name__ == sys.argv[2] and not stopped:
        stopped.append(event)
        os.kill(os.getpid(), signal.SIGTERM)

def body():
    tempfile.gettempdir()  # tries on a file of its own whether it may write there
    sys.setprofile(stop)
    with temporary_folder() as folder, atomic_file("file", overwrite=False) as file:
        (folder / "spilt").touch()
        file.write_text("half")
        with atomic_directory("folder", overwrite=False) as folder:
            (folder / "part").touch()
    return 0

stopped = []
finish("x", body, debug=False)
"""


@pytest.mark.parametrize("event", ["c_call", "c_return"])
@pytest.mark.parametrize("function", ["mkdir", "open", "flock", "close", "unlink", "rmdir"])
def test_nothing_half_written_is_left_by_a_signal_as_files_come_and_go(tmp_path, event, function):
    """Just before or after Python makes or removes one: a block may not have begun, or be over."""
    here, spills = tmp_path / "here", tmp_path / "spills"
    here.mkdir(), spills.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_WITHIN, event, function],
        cwd=here,
        capture_output=True,
        env={**os.environ, "TMPDIR": str(spills), "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, b"")
    assert [path.name for path in here.iterdir() if path.name.startswith(".")] == []
    assert list(spills.iterdir()) == []


STUCK = """
import os, signal, sys, threading
from dialtools.cli import _signals
from dialtools.cli._exit import finish
from dialtools.streams.atomic import atomic_file

_signals.NUDGES_SECONDS, _signals.PATIENCE_SECONDS = (0.05,), 0.2

def body():
    lock = threading.Lock()
    with atomic_file("file", overwrite=False) as file:
        file.write_text("half")
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:  # as where a signal comes between a lock and the block that gives it back
            lock.acquire(), lock.acquire()

finish("x", body, debug=False)
"""


def test_a_command_that_its_cleaning_up_holds_for_ever_ends_by_its_signal(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", STUCK],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (done.returncode, done.stderr, list(tmp_path.iterdir())) == (-signal.SIGTERM, b"", [])


NO_THREADS = """
import threading
from dialtools.cli.pairs import main
def start(self):
    raise RuntimeError("can't start new thread")
threading.Thread.start = start
main(["x.jsonl"])
"""


def test_where_no_thread_can_be_started_a_line_says_so(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", NO_THREADS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    first, hint = done.stderr.splitlines()
    assert done.returncode == 1
    assert first == "dial-pairs: out of threads or processes: can't start new thread"
    assert hint.startswith("  ulimit -u")


def test_every_signal_that_ends_a_command_has_its_exit_status_in_the_pages():
    assert {128 + number for number in (*_signals.ENDING, signal.SIGPIPE)} <= set(EXIT_CODES)


def test_a_signal_that_the_caller_ignores_stays_ignored(scripts, installed):
    process = subprocess.Popen(
        [installed / "dial-pairs", "-q"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert process.stdin and process.stdout
    process.stdin.write(talk(1))
    process.stdin.flush()
    process.stdout.read1()
    process.send_signal(signal.SIGHUP)
    process.communicate(talk(1), timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_closed_files_are_no_defect(installed, command):
    def run(words: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-c", f"{installed}/{words}"], capture_output=True)

    done = run(f"{command} --help >&-")
    assert (done.returncode, done.stderr) == (
        1,
        f"{command}: stdout: Bad file descriptor\n".encode(),
    )
    assert run(f"{command} --help 2>&-").returncode == 0
    assert run(f"{command} --nonsense 2>&-").returncode == 2
    assert run(f"{command} --help <&-").returncode == 0


def test_who_has_closed_stdout_has_the_model_and_is_told_no_path(installed, tmp_path):
    pairs = "\n".join(f'{{"context": ["a {n}"], "response": "b {n}"}}' for n in range(2))
    line = f"echo '{pairs}' | {installed}/dial-train -q --max-steps 1 -o m >&-"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "m/model.safetensors").is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_without_docstrings_a_command_says_why_it_cannot_run(installed, command):
    without = os.environ | {"PYTHONOPTIMIZE": "2", "PYTHONDONTWRITEBYTECODE": "1"}
    said = ended(installed / command, "--help", env=without, code=2).stderr.decode()
    assert said.startswith(f"{command}: python -OO drops the docstrings")
    assert "\n  PYTHONOPTIMIZE=1, which is -O, keeps them" in said
    ended(installed / command, "--help", env=without | {"PYTHONOPTIMIZE": "1"})


def test_a_closed_stdin_is_no_input(installed):
    done = ended("bash", "-c", f"{installed}/dial-pairs <&-", code=1)
    assert done.stderr.startswith(b"dial-pairs: <stdin>: no input")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 156. MiB for an array"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        RuntimeError(
            "[enforce fail at a.cpp:1] err == 0. DefaultCPUAllocator: can't allocate memory: 9"
        ),
    ],
)
def test_want_of_memory_is_no_defect(error):
    from dialtools.cli._exit import as_dial_error

    told = as_dial_error(error)
    said = str(error).replace("[enforce fail at a.cpp:1] err == 0. DefaultCPUAllocator: ", "")
    assert (str(told), told.hint) == (
        f"out of memory: {said}",
        "--help ends with what takes memory",
    )
    assert (
        as_dial_error(RuntimeError("odd")).hint == "this looks like a defect; --debug shows where"
    )


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),  # fork's
        pa.ArrowException("Unknown error: Failed to launch worker thread"),
    ],
)
def test_want_of_threads_is_neither_a_defect_nor_damage(error, monkeypatch):
    from dialtools.cli._exit import as_dial_error
    from dialtools.streams import tables

    def fail(*_: Any) -> Any:
        raise error

    run: Callable[[], Any] = fail
    if isinstance(error, pa.ArrowException):
        monkeypatch.setattr(tables, "_batches_of_file", fail)
        fail = partial(
            list, tables.arrow_batches(io.BufferedReader(io.BytesIO(tables.FILE_MAGIC)), "a.arrow")
        )
    with pytest.raises(type(error)) as raised:
        run()
    told = as_dial_error(raised.value)
    assert str(told).startswith("out of threads or processes: ")
    assert told.hint and "ulimit" in told.hint


def test_a_bound_on_memory_is_told_in_a_line(installed, tmp_path):
    (tmp_path / "pairs.jsonl").touch()
    words = f"ulimit -v 400000; {installed / 'dial-train'} -o m pairs.jsonl"
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert done.stderr.startswith("dial-train: out of memory: ")

"""A process with everything imported that forks a command a call, within limits of time and memory.

A fork takes some milliseconds, an import of torch as many seconds. The zygote starts no threads and
makes no files, so that each command begins as in a process of its own. What a command prints is in
files of its folder: `stdout` and `stderr`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "machines"))
import warm_server

SECONDS = 180  # on a machine that has other work
PROCESSOR_SECONDS = 30
ADDRESS_SPACE = 8 << 30  # beyond that of what was imported; arenas are reserved, and never used
FILE_SIZE = 1 << 30
TORCH = tuple(
    f"dialtools.{room}"
    for room in ("train", "finetune", "embed", "encoder", "cli._torch", "cli.curve", "cli.finetune")
)
KINDS = {
    "light": ("duckdb", "pyarrow.parquet"),
    "sklearn": ("sklearn.linear_model", "matplotlib.pyplot", "pyarrow.parquet"),
    "torch": (),
}
"""What is imported before commands are forked: the more, the slower is a fork."""
STUCK = 124
"""Status of a command that was ended for its time, as that of timeout(1)."""
CRASHED = 70
"""Status of a command that an exception has left."""


@dataclass(frozen=True)
class Ended:
    """How a command has ended.

    Attributes:
        status: exit status, or minus the signal; STUCK, if it took too long.
        bytes: its largest resident memory, that of what was imported among it.
        seconds: of processors.
        left: whether processes of it were still there.
    """

    status: int
    bytes: int
    seconds: float
    left: bool


class Zygote:
    """The caller's end.

    Args:
        kind: what is imported: of KINDS.
    """

    def __init__(self, kind: str) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, kind, str(theirs.fileno())]
        here = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=here)
        theirs.close()

    def run(
        self, command: list[str], folder: Path, environment: dict[str, str], stdin: str | None
    ) -> Ended:
        """Run a command in `folder/work`; its standard input is a file there, or nothing."""
        call = [command, str(folder), environment, stdin]
        self.socket.send(json.dumps(call).encode("utf-8", "surrogateescape"))
        answer = self.socket.recv(1 << 16)
        if not answer:
            raise RuntimeError("the zygote has died")
        return Ended(*json.loads(answer))

    def close(self) -> None:
        self.socket.close()
        self.process.wait()


def import_some(kind: str) -> None:
    """Import what commands of a kind import."""
    import dialtools

    if kind == "torch":
        return warm_server.import_all()
    for module in pkgutil.walk_packages(dialtools.__path__, "dialtools."):
        if not module.name.startswith(TORCH):
            import_module(module.name)
    for name in KINDS[kind]:
        import_module(name)


def serve(caller: socket.socket) -> NoReturn:
    """Answer calls until the caller is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while call := caller.recv(1 << 22):
        command, folder, environment, stdin = json.loads(call)
        process = os.fork()
        if process == 0:
            caller.close()
            become(command, Path(folder), environment, stdin)
        status, usage = wait(process)
        seconds = usage.ru_utime + usage.ru_stime
        ended = Ended(status, usage.ru_maxrss << 10, seconds, end_group(process))
        caller.send(json.dumps([ended.status, ended.bytes, ended.seconds, ended.left]).encode())
    os._exit(0)


def become(
    command: list[str], folder: Path, environment: dict[str, str], stdin: str | None
) -> NoReturn:
    """Be the command, and leave as Python does."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    limits = {
        resource.RLIMIT_AS: resident()[0] + ADDRESS_SPACE,
        resource.RLIMIT_FSIZE: FILE_SIZE,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 5))
    modes = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [os.open(folder / "work" / stdin if stdin else os.devnull, os.O_RDONLY)]
    files += [os.open(folder / name, modes) for name in ("stdout", "stderr")]
    warm_server.become(files, command, str(folder / "work"), environment)
    faulthandler.enable(2)  # says where, of what is a finding anyhow
    faulthandler.register(signal.SIGXCPU, 2, chain=True)
    try:
        name = Path(command[0]).name.removeprefix("dial-")
        warm_server.finish(import_module(f"dialtools.cli.{name}").main)
    except BaseException:
        traceback.print_exc()
        os._exit(CRASHED)


def wait(process: int) -> tuple[int, resource.struct_rusage]:
    """Return the status of a command, and what it used; one that takes too long is ended."""
    handle = os.pidfd_open(process)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    stuck = not poll.poll(SECONDS * 1000)
    if stuck:
        os.kill(process, signal.SIGABRT)  # faulthandler tells where it is
        if not poll.poll(5000):
            os.kill(process, signal.SIGKILL)
    os.close(handle)
    _, status, usage = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status)
    return STUCK if stuck or code == -signal.SIGXCPU else code, usage


def end_group(process: int) -> bool:
    """End what is left of a command's processes, and tell whether any lived on for a second.

    Those that the system ends with their parent take a moment to die.
    """
    deadline = time.monotonic() + 1
    while alive := living(process):
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            break
        time.sleep(0.01)
    return alive


def living(group: int) -> bool:
    """Tell whether a process of a group runs: one that is dead may still wait to be reaped."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in "ZX":
                return True
    return False


def resident() -> tuple[int, int]:
    """Return the bytes of address space and of memory that this process has."""
    pages = Path("/proc/self/statm").read_text().split()
    return int(pages[0]) * resource.getpagesize(), int(pages[1]) * resource.getpagesize()


if __name__ == "__main__":
    import_some(sys.argv[1])
    gc.freeze()  # so that a collection in a fork does not copy what was imported
    serve(socket.socket(fileno=int(sys.argv[2])))

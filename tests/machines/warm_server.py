"""Import everything that the commands import, then fork a command for each call.

Run as a script by `warm.start`: python warm_server.py SOCKET. It serves until it is killed,
or its socket is removed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import host_cuda  # beside this script

# what torch and transformers put off to their first use
DEFERRED = (
    "torch._dynamo",
    "transformers.models.bert.modeling_bert",
    "sklearn.linear_model",
    "matplotlib.pyplot",
)


@dataclass(frozen=True)
class Running:
    """A forked command: the process, and the caller who waits for its status."""

    process: int
    process_fd: int
    caller: socket.socket

    def signal(self) -> bool:
        """Pass on the caller's signals; if the caller is gone, return False with the command dead.

        It is not reaped here: that its end is awaited makes a killed command one that holds no lock
        and writes no more when the next one starts.
        """
        numbers = self.caller.recv(16)
        for number in numbers or [signal.SIGKILL]:
            os.kill(self.process, number)
        if not numbers:
            os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOWAIT)
        return bool(numbers)

    def report(self) -> None:
        """Tell the caller how the process has ended."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        with contextlib.suppress(OSError):  # a caller who is gone
            self.caller.send(status.to_bytes(4, "big", signed=True))
        os.close(self.process_fd)
        self.caller.close()


class Server:
    """One thread that watches a socket, its callers and their commands."""

    def __init__(self, address: str) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen()
        self.watched: dict[int, Running] = {}  # by the descriptor of the process and of the caller

    def serve(self) -> list[str]:
        """Answer calls while the socket is there; in a forked command, return its arguments."""
        while Path(self.listener.getsockname()).exists():  # gone with the run that was killed
            ready, _, _ = select.select([*self.watched, self.listener.fileno()], [], [], 10)
            for descriptor in ready:  # the listener last: who was killed is dead before a next call
                if descriptor == self.listener.fileno():
                    if arguments := self.answer(self.listener.accept()[0]):
                        return arguments
                elif running := self.watched.get(descriptor):
                    self.attend(running, descriptor)
        os._exit(0)

    def answer(self, caller: socket.socket) -> list[str] | None:
        """Fork the command that a caller asks for; in the command, return its arguments."""
        size, files, _, _ = socket.recv_fds(caller, 4, 3)
        if not size:  # asked only whether the server is there
            caller.close()
            return None
        call = caller.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # lost in the hooks of fork
        process = os.fork()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        if process == 0:
            for descriptor in (self.listener.fileno(), caller.fileno(), *self.watched):
                os.close(descriptor)
            return become(files, *json.loads(call))
        for descriptor in files:
            os.close(descriptor)
        running = Running(process, os.pidfd_open(process), caller)
        self.watched[running.process_fd] = self.watched[caller.fileno()] = running
        return None

    def attend(self, running: Running, descriptor: int) -> None:
        """Do what is to be done when a caller says something or a process has ended."""
        if descriptor == running.process_fd:
            del self.watched[descriptor]
            self.watched.pop(running.caller.fileno(), None)
            running.report()
        elif not running.signal():
            del self.watched[descriptor]


def become(
    files: list[int], arguments: list[str], directory: str, environment: dict[str, str]
) -> list[str]:
    """Take over the files, directory and environment of the caller; return the arguments."""
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
        os.close(file)
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # as `dialtools.cli` has it; ignored where tests run
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # that of the caller's $TMPDIR, not one asked for while importing
    sys.argv = arguments
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace", buffering=1)  # noqa: SIM115
    return arguments


def import_all() -> None:
    """Import all of dialtools, and what its libraries put off."""
    import dialtools

    for module in pkgutil.walk_packages(dialtools.__path__, "dialtools."):
        import_module(module.name)
    for name in DEFERRED:
        import_module(name)


def finish(main: Callable[[], None]) -> None:
    """Run a command and leave as Python does.

    But for taking down what was imported, which takes seconds.
    """
    status = 0
    try:
        main()
    except SystemExit as ended:
        status = ended.code or 0
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)


def run(address: str) -> None:
    """Import, serve, and in each fork run the command that was called."""
    try:
        if library := os.environ.get("DIALTOOLS_HOST_CUDA"):
            host_cuda.install(library)
        import_all()
    except Exception:
        Path(address).with_name("failed").write_text(traceback.format_exc())
        raise
    gc.freeze()  # so that a collection in a fork does not copy the pages of what was imported
    try:
        command = Path(Server(address).serve()[0]).name
    except KeyboardInterrupt:  # before the command began: not its to answer
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    finish(import_module(f"dialtools.cli.{command.removeprefix('dial-')}").main)


if __name__ == "__main__":
    run(sys.argv[1])

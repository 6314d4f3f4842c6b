"""Commands that are real processes and yet start at once: a server that has imported everything forks one for each call.

A test's command is a process with its own pipes, directory, environment, signals and exit status,
as a user's is. What it saves is the import of torch and transformers, which is most of the time of
a small run. `start` puts scripts named as the commands into a folder; each hands its three files,
arguments, directory and environment to the server, passes on the signals it gets, and ends as the
forked command ends.
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
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import host_cuda

COMMANDS = (
    "dial-pairs",
    "dial-augment",
    "dial-freq",
    "dial-train",
    "dial-embed",
    "dial-eval",
    "dialtools",
)
CLIENT = """#!{python} -ISE
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, frame: server.send(bytes([number])))
call = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(call).to_bytes(4, "big")], [0, 1, 2])
server.sendall(call)
status = int.from_bytes(server.recv(4), "big", signed=True)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


def start(folder: Path, **settings: str) -> subprocess.Popen:
    """Start the server and write a script for each command into `folder`; does not wait until it is ready."""
    address = str(folder / "socket")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **settings}
    for command in COMMANDS:
        script = folder / command
        script.write_text(CLIENT.format(python=sys.executable, address=address))
        script.chmod(0o755)
    return subprocess.Popen([sys.executable, __file__, address], env=environment)


def start_cuda(folder: Path) -> None:
    """Start commands that have CUDA devices, once for all workers of a run: real ones, else of host memory.

    How many there are is in the file `devices`.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        gpus, settings = count_gpus(), {"CUDA_VISIBLE_DEVICES": os.environ["DIALTOOLS_GPUS"]}
        (folder / "devices").write_text(str(gpus or host_cuda.DEVICES))
        if not gpus:
            settings["DIALTOOLS_HOST_CUDA"] = str(folder / "libhost_cuda.so")
            try:
                host_cuda.build(Path(settings["DIALTOOLS_HOST_CUDA"]))
            except subprocess.CalledProcessError as error:
                (folder / "failed").write_text(str(error))
                raise
        (folder / "server").write_text(str(start(folder, **settings).pid))


def count_gpus() -> int:
    """Return how many GPUs this machine has for torch; tests see none of them but where they ask."""
    import torch

    if not torch.backends.cuda.is_built():
        return 0
    seen = {**os.environ, "CUDA_VISIBLE_DEVICES": os.environ["DIALTOOLS_GPUS"]}
    count = [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"]
    return int(subprocess.run(count, env=seen, check=True, capture_output=True).stdout)


def stop_cuda(folder: Path) -> None:
    """Stop what start_cuda started, if it did."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((folder / "server").read_text()), signal.SIGKILL)


def wait(folder: Path, seconds: float) -> None:
    """Return when the server answers.

    Raises:
        TimeoutError: it does not answer in time.
        ImportError: a module of the commands cannot be imported.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (folder / "failed").exists():
            raise ImportError((folder / "failed").read_text())
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(folder / "socket"))
            return
        time.sleep(0.05)
    raise TimeoutError(f"no answer from {folder} in {seconds} s")


def serve(address: str) -> list[str]:
    """Answer calls for ever; returns only in a forked command, with its arguments."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    running: dict[
        int, tuple[int, socket.socket]
    ] = {}  # what to watch (a process or a caller) -> both
    while True:
        for ready in select.select([listener.fileno(), *running], [], [])[0]:
            if ready == listener.fileno():
                caller = listener.accept()[0]
                size, files, _, _ = socket.recv_fds(caller, 4, 3)
                if not size:  # only asked whether the server is there
                    caller.close()
                    continue
                call = caller.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
                if (process := os.fork()) == 0:
                    for descriptor in (listener.fileno(), caller.fileno(), *running):
                        os.close(descriptor)
                    return become(files, *json.loads(call))
                for descriptor in files:
                    os.close(descriptor)
                running[os.pidfd_open(process)] = running[caller.fileno()] = (process, caller)
            elif ready in running:
                process, caller = running[ready]
                if ready == caller.fileno():
                    numbers = caller.recv(16)
                    for number in numbers or [signal.SIGKILL]:
                        os.kill(process, number)
                    if not numbers:
                        del running[ready]
                    continue
                status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                with contextlib.suppress(OSError):
                    caller.send(status.to_bytes(4, "big", signed=True))
                running.pop(caller.fileno(), None)
                del running[ready]
                os.close(ready)
                caller.close()


def become(
    files: list[int], arguments: list[str], directory: str, environment: dict[str, str]
) -> list[str]:
    """Take over the files, directory and environment of the caller."""
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
        os.close(file)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace", buffering=1)  # noqa: SIM115
    return arguments


def import_all() -> None:
    """Import what the commands import, and what torch and transformers put off to their first use."""
    import dialtools

    for module in pkgutil.walk_packages(dialtools.__path__, "dialtools."):
        import_module(module.name)
    for name in (
        "torch._dynamo",
        "transformers.models.bert.modeling_bert",
        "sklearn.linear_model",
        "matplotlib.pyplot",
    ):
        import_module(name)


def finish(main: Callable[[], None]) -> None:
    """Run a command and leave as Python does, but for taking down what was imported, which takes seconds."""
    try:
        main()
    except SystemExit as ended:
        status = ended.code
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    try:
        if library := os.environ.get("DIALTOOLS_HOST_CUDA"):
            host_cuda.install(library)
        import_all()
    except Exception:
        Path(sys.argv[1]).with_name("failed").write_text(traceback.format_exc())
        raise
    gc.freeze()
    command = Path(serve(sys.argv[1])[0]).name
    finish(import_module(f"dialtools.cli.{command.removeprefix('dial-')}").main)

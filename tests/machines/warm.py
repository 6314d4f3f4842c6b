"""Start and stop the import server (`warm_server.py`), and write the commands that it answers.

Each command is a script that hands its three files, arguments, directory and environment to the
server, passes on the signals it gets, and ends as the forked command ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from machines import host_cuda

SERVER = Path(__file__).with_name("warm_server.py")
COMMANDS = (
    *("dial-pairs", "dial-augment", "dial-freq"),
    *("dial-train", "dial-embed", "dial-eval", "dialtools"),
)
# -ISE: neither site-packages nor the environment, so that the script itself starts in 20 ms
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
    """Start a server and write a script for each command; does not wait until it is ready.

    Args:
        folder: where the scripts and the server's socket are to be.
        settings: environment variables of the server.
    """
    address = write_commands(folder)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **settings}
    return subprocess.Popen([sys.executable, str(SERVER), address], env=environment)


def write_commands(folder: Path) -> str:
    """Write a script for each command; return the address of the server that they call."""
    address = str(folder / "socket")
    for command in COMMANDS:
        script = folder / command
        script.write_text(CLIENT.format(python=sys.executable, address=address))
        script.chmod(0o755)
    return address


def start_cuda(folder: Path) -> None:
    """Start commands with CUDA devices, once for all workers of a run: real, else of host memory.

    How many devices there are is in the file `devices`.
    """
    try:
        folder.mkdir()
    except FileExistsError:  # another worker of this run is or was first
        return
    gpus = count_gpus()
    settings = {"CUDA_VISIBLE_DEVICES": os.environ["DIALTOOLS_GPUS"]}
    (folder / "devices").write_text(str(gpus or host_cuda.DEVICES))
    if not gpus:
        library = folder / "libhost_cuda.so"
        settings["DIALTOOLS_HOST_CUDA"] = str(library)
        try:
            host_cuda.build(library)
        except subprocess.CalledProcessError as error:
            (folder / "failed").write_text(str(error))
            raise
    (folder / "server").write_text(str(start(folder, **settings).pid))


def stop_cuda(folder: Path) -> None:
    """Stop what start_cuda started, if it did."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((folder / "server").read_text()), signal.SIGKILL)


def count_gpus() -> int:
    """Return how many GPUs torch has here; tests see none of them but where they ask."""
    import torch

    if not torch.backends.cuda.is_built():
        return 0
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": os.environ["DIALTOOLS_GPUS"]}
    count = [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"]
    return int(subprocess.run(count, env=environment, check=True, capture_output=True).stdout)


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

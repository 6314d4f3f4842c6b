"""Commands that run, stop and leave: through the import server, or from their own start."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

SCRIPTS = Path(sys.executable).parent


class Warm:
    """A command forked by the import server; it has the three files from its first moment on."""

    def __init__(
        self, server: Path, words: list[str], folder: Path, env: dict[str, str], files: list[int]
    ) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(server / "socket"))
        call = json.dumps([words, str(folder), env]).encode()
        socket.send_fds(self.socket, [len(call).to_bytes(4, "big")], files)
        self.socket.sendall(call)

    def send(self, number: int) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self.socket.send(bytes([number]))

    def wait(self, seconds: float) -> int | None:
        """Return its status, as subprocess has it, or None if it has not ended by then."""
        ready, _, _ = select.select([self.socket], [], [], seconds)
        if not ready:
            return None
        status = int.from_bytes(self.socket.recv(4), "big", signed=True)
        self.socket.close()
        return status


class Cold:
    """A command as installed: a new interpreter, which imports what it needs."""

    def __init__(
        self, words: list[str], folder: Path, env: dict[str, str], files: list[int]
    ) -> None:
        stdin, stdout, stderr = files
        self.process = subprocess.Popen(
            [str(SCRIPTS / words[0]), *words[1:]],
            cwd=folder,
            env=env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float) -> int | None:
        """Return its status, or None if it has not ended by then."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(seconds)
        return None


class Place:
    """Where a job runs: `out` is its directory, `tmp` its $TMPDIR; what it says is in `stderr`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out, self.tmp = folder, folder / "out", folder / "tmp"
        for path in (self.out, self.tmp):
            path.mkdir(parents=True)
        self.stderr = folder / "stderr"
        self.stdout = folder / "stdout"

    def start(
        self, words: list[str], server: Path | None, stdin: str | Path = os.devnull
    ) -> Warm | Cold:
        """Start a command: a fork of the server, or of its own if there is none."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("DIAL")}
        quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
        env = {**kept, **quiet, "TMPDIR": str(self.tmp)}
        with contextlib.ExitStack() as stack:
            opened: list[BinaryIO] = [
                stack.enter_context(open(path, mode))
                for path, mode in ((stdin, "rb"), (self.stdout, "wb"), (self.stderr, "wb"))
            ]
            files = [file.fileno() for file in opened]
            if server is None:
                return Cold(words, self.out, env, files)
            return Warm(server, words, self.out, env, files)

    def names(self) -> frozenset[str]:
        """Return the names of all files and folders of the job now."""
        found, waiting = [], [str(self.out), str(self.tmp)]
        while waiting:
            with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    found.append(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        return frozenset(found)

    def temporary(self) -> list[str]:
        """Return what lies in $TMPDIR, but for what Python and torch put there themselves."""
        names = sorted(path.name for path in self.tmp.iterdir())
        return [name for name in names if not re.fullmatch("[a-z0-9_]{8}|torchinductor_.*", name)]

    def processes(self) -> list[int]:
        """Return the processes that are at work in the job's folder."""
        found = []
        for link in Path("/proc").glob("[0-9]*/cwd"):
            with contextlib.suppress(OSError):
                if link.readlink().is_relative_to(self.folder):
                    found.append(int(link.parent.name))
        return found

    def left(self, seconds: float = 5.0) -> list[int]:
        """Return the processes that are still there after so long, and end them."""
        deadline = time.monotonic() + seconds
        while (found := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return found

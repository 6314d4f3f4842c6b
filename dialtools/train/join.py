"""How the processes of a run find each other: started by --nproc, or by torchrun."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

import dialtools
from dialtools.encoder.device import choose_device
from dialtools.errors import ConfigError
from dialtools.shown import quoted
from dialtools.streams.tally import counted
from dialtools.train.ranks import ALONE, LostRank, Ranks, Together

PLACE = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun tells each process that it starts, and --nproc does too."""
STORE = "TORCHELASTIC_USE_AGENT_STORE"
"""With which it says that who started the processes has the store where they meet, not rank 0."""
HOME = "127.0.0.1"
COME = "come-"
"""And a rank: what a process leaves in that store when it waits for the others."""
COMMAND = "from dialtools.cli.train import main; main()"


def place() -> tuple[int, int] | None:
    """Return the rank and the processes of the run that this one was started for, if it was."""
    if not all(name in os.environ for name in PLACE):
        return None
    return _number("RANK"), _number("WORLD_SIZE")


def _number(name: str) -> int:
    """Return a variable that torchrun sets.

    Raises:
        ConfigError: if it is no whole number.
    """
    text = os.environ[name]
    if not text.isdecimal():
        raise ConfigError(f"{name} is no whole number: {quoted(text)}")
    return int(text)


def follows() -> bool:
    """Tell whether this process follows another one's lead."""
    here = place()
    return here is not None and here[0] > 0


@contextmanager
def together(processes: int, device: str = "auto") -> Generator[Ranks]:
    """Yield this process's place in its run; those that it starts end with it.

    Args:
        processes: of --nproc, which torchrun's own replace.
        device: of --device.

    Raises:
        ConfigError: if there is no GPU for each.
        LostRank: if another does not come.
    """
    here = place()
    if (here or (0, processes))[1] < 2:
        yield ALONE
        return
    local = 0
    if here:
        local = _number("LOCAL_RANK") if "LOCAL_RANK" in os.environ else here[0]
    own = _own_device(device, local, 1 + local if here else processes)
    with nullcontext(here) if here else _led(processes) as (rank, size):
        if rank and os.environ["MASTER_ADDR"] == HOME and os.environ.get(STORE) == "True":
            TCPStore(HOME, _number("MASTER_PORT"), is_master=False).set(f"{COME}{rank}", "")
        try:
            yield Together(rank=rank, size=size, local=local, device=own)
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()


def _own_device(name: str, local: int, processes: int) -> torch.device:
    """Return where a process of several computes: on a GPU of its own, or the processor of all.

    Args:
        name: of --device.
        local: which of its machine it is.
        processes: of its machine, as far as it knows of them.

    Raises:
        ConfigError: if there is no GPU for each: the others would wait for those without.
    """
    # "cuda" is not tried here: each process would take memory of the first GPU
    device = torch.device(name) if name == "cuda" else choose_device(name)
    if device.type != "cuda":
        return device
    gpus = torch.cuda.device_count() if device.index is None else 1
    if processes > gpus:
        message = f"{counted(gpus, 'GPU')} for {processes} processes of this machine"
        hint = "each takes one of its own; --device cuda is all of them"
        raise ConfigError(f"--device {name}: {message}", hint=hint)
    return torch.device("cuda", local)


@contextmanager
def _led(processes: int) -> Generator[tuple[int, int]]:
    """Start the others of some processes of this machine; yield the place of the first, this one.

    They end with the block.
    """
    store = _store()
    address = {"MASTER_ADDR": HOME, "MASTER_PORT": str(store.port), STORE: "True"}
    told = {**address, "RANK": "0", "WORLD_SIZE": str(processes), "LOCAL_RANK": "0"}
    os.environ |= told
    started: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(1, processes):
            started.append(_start(rank))
        _wait_for(started, store)
        yield 0, processes
    finally:
        for process in started:
            process.kill()
            process.wait()
        for name in told:
            os.environ.pop(name, None)


def _wait_for(started: Sequence[subprocess.Popen[bytes]], store: TCPStore) -> None:
    """Return when all processes that were started have come: only then are their ends noticed.

    Raises:
        LostRank: if one has ended before.
    """
    for rank, process in enumerate(started, 1):
        while not store.check([f"{COME}{rank}"]):
            if process.poll() is not None:
                hint = (
                    f"with status {process.returncode}; its own error, if it had one, stands above"
                )
                raise LostRank(f"process {rank} of this run has ended before it began", hint=hint)
            time.sleep(0.05)


def deaf() -> None:
    """Let signals pass: who leads hears them, and says when to stop."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _start(rank: int) -> subprocess.Popen[bytes]:
    """Start this command again as another process of the run."""
    home = str(Path(dialtools.__file__).parents[1])
    paths = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "PYTHONPATH": paths}
    environment: Mapping[str, str] = {**os.environ, **own}
    # -P: a file in the folder at hand is no module of ours
    command = [sys.executable, "-P", "-c", COMMAND, *sys.argv[1:]]
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )


def _store() -> TCPStore:
    """Return the store where the processes of this machine meet, on a port that is its own."""
    listening = socket.create_server((HOME, 0))
    port = listening.getsockname()[1]
    return TCPStore(
        HOME, port, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach()
    )

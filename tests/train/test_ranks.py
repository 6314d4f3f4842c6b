"""Several processes take the steps of one run, and it is the run of one process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from at_work import ended, logged, until
from pair_corpus import SMALL, Train, as_lines, pair_records, steps
from safetensors.torch import load_file

from dialtools.errors import ConfigError
from dialtools.train import join
from dialtools.train.ranks import LostRank

ROOT = Path(__file__).parents[2]
RUN = ("--batch-size", "32", "--lr", "1e-3", "--micro-batch-tokens", "64")
TWO = ("--nproc", "2")
TEMPLATES = [("book {city} on {day}", "book rome on monday"), ("play {song}", "play help")]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs that every objective can learn from."""
    rows = pair_records(40)
    for number, row in enumerate(rows):
        template, _ = TEMPLATES[number % 2]
        row |= {"follow": ["thanks", "bye"], "template": template, "similar": int(number % 5 > 0)}
    path = tmp_path_factory.mktemp("samples") / "pairs.jsonl"
    path.write_bytes(as_lines(rows))
    return path


def same(one: Path, two: Path) -> None:
    """Losses to 1e-6 of their size, weights to 1e-5."""
    losses = [[row["loss"] for row in steps(each / "train-log.jsonl")] for each in (one, two)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
    ours, theirs = (load_file(each / "model.safetensors") for each in (one, two))
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], rtol=1e-5, atol=1e-5)


MORE = pytest.mark.exhaustive
METHODS = pytest.mark.parametrize(
    ("method", "flags"),
    [
        ("dse", ("--loss", "hard-negative", "--head", "mlp")),
        ("dialoguecse", ("--negatives", "all", "--freeze", "0")),
        ("tadse", ()),
        ("dse", ("--encoder", "static", "--vocab-size", "300", "--hidden", "64")),
        ("dse", ("--grad-cache", "on", "--matryoshka", "64,32")),
        pytest.param("wmdc", ("--head", "window-linear", "--batches", "by-window"), marks=MORE),
        pytest.param("simcse", (), marks=MORE),
        pytest.param("siamese-m", ("--negatives", "3", "--freeze", "0"), marks=MORE),
        pytest.param("mlm", (), marks=MORE),
        pytest.param("todbert-joint", (), marks=MORE),
        pytest.param("pairsupcon", (), marks=MORE),
    ],
)


@METHODS
def test_two_processes_take_the_steps_of_one(train: Train, samples, tmp_path, method, flags):
    static = "static" in flags
    run = (*RUN, "--method", method, *flags, "--max-steps", "5")
    for name, processes in (("one", ()), ("two", TWO)):
        output = ("-o", tmp_path / name, "--threads", "1", samples)
        train(*run, *processes, *output, small=not static)
    same(tmp_path / "one", tmp_path / "two")


WATCHED = """
import os
from torch.optim.optimizer import register_optimizer_step_pre_hook
from safetensors.torch import save_file
steps = []
def keep(optimiser, *_):
    ours = [p for group in optimiser.param_groups for p in group["params"] if p.grad is not None]
    steps.append({f"{len(steps)}.{i}": p.grad.to_dense().clone() for i, p in enumerate(ours)})
    save_file({name: g for step in steps for name, g in step.items()}, os.environ["GRADIENTS"])
register_optimizer_step_pre_hook(keep)
from dialtools.cli.train import main; main()
"""


@pytest.mark.exhaustive
@METHODS
def test_the_gradients_of_two_processes_are_those_of_one(
    environment, samples, tmp_path, method, flags
):
    small = () if "static" in flags else SMALL
    run = (*small, *RUN, "--method", method, *flags, "--max-steps", "2", "--threads", "1")
    found = []
    for name, processes in (("one", ()), ("two", TWO)):
        file = tmp_path / f"{name}.safetensors"
        line = [*map(str, (*run, *processes, "-o", tmp_path / name, samples))]
        subprocess.run(
            [sys.executable, "-c", WATCHED, *line],
            env={**environment, "GRADIENTS": str(file)},
            check=True,
            timeout=600,
        )
        found.append(load_file(file))
    one, two = found
    first = [name for name in one if name.startswith("0.")]
    assert first and one.keys() == two.keys()
    whole = [torch.cat([each[name].flatten() for name in first]) for each in found]
    difference = float((whole[0] - whole[1]).norm() / whole[0].norm())
    print(f"{method} {' '.join(flags)}: gradients differ by {difference:.1e}")
    assert difference < 1e-5


LENGTH = ("--max-steps", "40", "--checkpoint-every", "3")


@pytest.fixture(scope="module")
def unbroken(train: Train, samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process makes of LENGTH without a stop."""
    model = tmp_path_factory.mktemp("unbroken") / "model"
    train(*RUN, *LENGTH, "-o", model, samples)
    return model


@pytest.fixture
def command(scripts: Path) -> Callable[..., list[str]]:
    return lambda *more: [str(scripts / "dial-train"), *SMALL, *RUN, *map(str, more)]


def follower(model: Path) -> int:
    """The process that the leader of a run has started."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            told = (process / "environ").read_bytes().split(b"\0")
            if b"RANK=1" in told and str(model).encode() in (process / "cmdline").read_bytes():
                return int(process.name)
    raise LookupError(model)


def until_gone(process: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{process}").exists()


def begun(run: list[str], environment, model: Path, after: int) -> subprocess.Popen[bytes]:
    """Start a run and wait until it has taken some steps."""
    process = subprocess.Popen(
        run, env=environment, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    until(process, lambda: logged(model) >= after)
    return process


@pytest.mark.parametrize("victim", ["follower", "leader"])
def test_where_one_ends_all_do_and_another_number_of_processes_goes_on(
    train: Train, command, environment, samples, unbroken, tmp_path, victim
):
    model = tmp_path / "model"
    run = command("-q", *LENGTH, *TWO, "-o", model, samples)
    process = begun(run, environment, model, after=7)
    other = follower(model)
    os.kill(other if victim == "follower" else process.pid, signal.SIGKILL)
    told = process.communicate(timeout=120)[1].decode()
    if victim == "follower":
        assert process.returncode == 1 and len(told.splitlines()) <= 2, told
        assert "another process of this run has ended" in told
    until_gone(other)

    train(*RUN, *LENGTH, "-o", model, "--resume", samples)
    same(model, unbroken)


def test_what_ends_them_all_is_told_once(train: Train, samples, tmp_path):
    run = ("--lr", "1e30", "--clip", "0", "--max-steps", "9", *TWO, "-o", tmp_path / "m")
    told = train(*run, samples, code=1).stderr.decode()
    assert told.count("the loss is not finite") == 1 and "nan-batch.jsonl" in told


def test_interrupted_it_keeps_its_step_and_leaves_no_process(
    command, environment, samples, tmp_path
):
    model = tmp_path / "model"
    run = command("--max-steps", "4000", *TWO, "-o", model, samples)
    process = begun(run, {**environment, "TMPDIR": str(tmp_path)}, model, after=3)
    other = follower(model)
    assert not list(tmp_path.glob("dialtools-*")), "who is killed could not remove it"
    process.send_signal(signal.SIGTERM)  # which, unlike SIGINT, nobody ignores for others
    assert b"--resume goes on" in process.communicate(timeout=120)[1]
    assert process.returncode == -signal.SIGTERM
    until_gone(other)


def test_the_port_where_processes_meet_is_taken_before_any_is_told_of_it(
    monkeypatch: pytest.MonkeyPatch,
):
    """And where the third cannot be started, the second ends."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(rank: int) -> subprocess.Popen[bytes]:
        with pytest.raises(OSError, match="in use"):
            socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
        if rank == 2:
            raise OSError("no room")
        begun.append(subprocess.Popen(["sleep", "600"]))
        return begun[-1]

    before = dict(os.environ)
    monkeypatch.setattr(join, "_start", start)
    with pytest.raises(OSError, match="no room"), join.together(3):
        raise AssertionError
    assert [process.returncode for process in begun] == [-signal.SIGKILL]
    assert dict(os.environ) == before


@pytest.mark.parametrize(("device", "gpus"), [("auto", 2), ("cuda", 2), ("cuda:1", 1)])
def test_each_process_has_a_gpu_of_its_own_before_any_is_started(
    device: str, gpus: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch, "empty", lambda *_, **__: None)
    monkeypatch.setattr(join, "_start", pytest.fail)
    message = f"--device {device}: {gpus} GPUs? for {gpus + 1} processes of this machine"
    with pytest.raises(ConfigError, match=message), join.together(gpus + 1, device):
        raise AssertionError


def test_a_process_that_ends_before_it_has_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(join, "_start", lambda rank: subprocess.Popen(["sh", "-c", "exit 5"]))
    with pytest.raises(LostRank, match="process 1 of this run has ended before"), join.together(2):
        raise AssertionError


def test_under_torchrun_it_is_the_same(train: Train, environment, samples, tmp_path):
    few = ("--max-steps", "3")
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run = [ROOT / "bin" / "dial-train", *SMALL, *RUN, *few, "-o", tmp_path / "two", samples]
    done = ended(sys.executable, *torchrun, *run, env=environment, timeout=300)
    assert done.stdout.decode().split() == [str(tmp_path / "two")], "one process prints"
    train(*RUN, *few, "-o", tmp_path / "one", samples)
    same(tmp_path / "one", tmp_path / "two")
    assert json.loads((tmp_path / "two" / "dialtools.json").read_text())


def test_another_machine_has_its_own_copy_of_what_the_leader_read(
    command, environment, samples, unbroken, tmp_path
):
    """Two machines, of one and of two processes, which know of each other by what they are told."""
    model = tmp_path / "model"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    told = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}

    def place(rank: int, local: int) -> dict[str, str]:
        machine = tmp_path / f"machine-{rank - local}"
        machine.mkdir(exist_ok=True)
        own = {"RANK": str(rank), "LOCAL_RANK": str(local), "TMPDIR": str(machine)}
        return {**environment, **told, **own}

    for again in ((), ("--resume",)):
        run = command("-q", *LENGTH, "-o", model, *again, samples)
        others = [subprocess.Popen(run, env=place(1 + local, local)) for local in (0, 1)]
        if again:
            subprocess.run(run, env=place(0, 0), check=True, timeout=300)
        else:
            leader = begun(run, place(0, 0), model, after=7)
            theirs = [maps for maps in mapped() if str(tmp_path / "machine-1/dialtools-") in maps]
            assert len(theirs) == 2 and not any(f"{model.name}.partial" in maps for maps in theirs)
            leader.terminate()
            assert leader.wait(timeout=120) == -signal.SIGTERM
        for other in others:
            other.wait(timeout=120)
        assert not list(tmp_path.glob("machine-*/dialtools-*")), "the copies go with the run"
    same(model, unbroken)


def mapped() -> Iterator[str]:
    """Yield the files that each process has in its memory."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            yield maps.read_text()

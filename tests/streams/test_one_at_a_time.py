"""Locks, within one process: who holds one is told, waited for, and followed."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from dialtools.errors import OutputError
from dialtools.streams import locks
from dialtools.streams.locks import Lock, locked


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def test_a_lock_names_its_holder_alone_and_one_that_is_refused_leaves_nothing_open(tmp_path: Path):
    path = tmp_path / "lock"
    path.write_text("123456789012345678901234567890\n")
    before = open_files()
    lock = Lock(path)
    assert path.read_text() == f"{os.getpid()}\n"
    with pytest.raises(OutputError) as told:
        Lock(path)
    here = f"another run is at work here (process {os.getpid()})"
    assert str(told.value) == f"{tmp_path}: {here}"
    os.truncate(path, 0)  # between the lock and the number of its holder
    with pytest.raises(OutputError, match=r"another run is at work here$"):
        Lock(path)
    assert open_files() == before + 1
    lock.release()
    assert open_files() == before
    Lock(path).release()
    assert path.read_text() == f"{os.getpid()}\n"


def test_who_waits_is_told_so_once_and_goes_on_when_the_other_is_done(tmp_path: Path, monkeypatch):
    told: list[str] = []
    waits: list[float] = []
    first = locked(tmp_path / "in" / "ner" / "cache", tell=told.append)
    first.__enter__()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            first.__exit__(None, None, None)

    monkeypatch.setattr(locks.time, "sleep", sleep)
    with locked(tmp_path / "in" / "ner" / "cache", tell=told.append):
        lock = os.open(tmp_path / "in" / "ner" / "cache.lock", os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it was let go
    os.close(lock)
    holder = f"another run is at work here (process {os.getpid()})"
    assert told == [f"{tmp_path}/in/ner/cache: {holder}; waiting for it"]
    assert waits == [locks.WAIT_SECONDS] * 3
    assert [path.name for path in (tmp_path / "in" / "ner").iterdir()] == ["cache.lock"]


def test_without_a_word_a_second_run_waits_and_one_that_may_not_is_refused(
    tmp_path: Path, monkeypatch
):
    first = locked(tmp_path / "cache")
    first.__enter__()
    monkeypatch.setattr(locks.time, "sleep", lambda _: first.__exit__(None, None, None))
    with pytest.raises(OutputError):
        Lock(tmp_path / "cache.lock")
    with locked(tmp_path / "cache"):
        pass
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "cache"):
        raise ZeroDivisionError
    Lock(tmp_path / "cache.lock").release()  # a block that fails lets go

"""Work handed to several processes and back: whole, in order, and no more of it than is at work."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from dialtools.errors import DataError, DialError
from dialtools.streams import parallel
from dialtools.streams.chunks import Chunk
from dialtools.streams.parallel import ordered_map

Item = tuple[Chunk, ...]


def turned(item: Item) -> Item:
    return tuple(Chunk(c.name, c.first, c.format, c.data + b"!", c.lines) for c in item[::-1])


def fails(_item: int) -> None:
    raise DataError("bad", where="f:3")


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_what_has_room_in_shared_memory_and_what_has_none_comes_back_in_order(
    jobs: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(parallel, "SLOT_BYTES", 64)
    sizes = product((0, 1, 31, 32, 33, 63, 64, 65), repeat=2)
    items = [
        tuple(Chunk("x", n, "jsonl", bytes([n + k]) * size) for k, size in enumerate(row))
        for n, row in enumerate(sizes)
    ]
    assert list(ordered_map(turned, items, jobs=jobs)) == list(map(turned, items))
    assert list(ordered_map(turned, [], jobs=jobs)) == []


@pytest.mark.parametrize(("jobs", "read_ahead"), [(1, 1), (2, 5), (3, 6)])
def test_a_few_items_more_are_read_than_there_are_workers(jobs: int, read_ahead: int):
    read: list[int] = []
    items = (read.append(n) or n for n in range(30))
    ahead = [len(read) - n for n, _ in enumerate(ordered_map(str, items, jobs=jobs))]
    assert ahead[: 31 - read_ahead] == [read_ahead] * (31 - read_ahead)


def test_an_error_and_the_death_of_a_worker_reach_the_caller():
    with pytest.raises(DataError, match="f:3: bad"):
        list(ordered_map(fails, [1], jobs=2))
    with pytest.raises(DialError, match="a worker process died") as died:
        list(ordered_map(os._exit, [3], jobs=2))
    assert "fewer --jobs" in str(died.value.hint)


def test_nothing_of_workers_is_left_however_the_work_ends():
    def here() -> tuple[int, set[signal.Signals]]:
        return len([*Path("/proc/self/fd").iterdir()]), signal.pthread_sigmask(signal.SIG_BLOCK, ())

    before = here()
    for items, function in (([1, 2], str), ([1], fails), ([1], os._exit), (range(99), str)):
        work = ordered_map(function, items, jobs=2)
        with suppress(DialError):
            next(work)
        work.close()
        assert multiprocessing.active_children() == []
    assert here() == before


@pytest.mark.parametrize(
    ("whose", "left", "error"),
    [
        ("the caller's", 0, RuntimeError("can't start new thread")),
        ("the caller's", 1, RuntimeError("can't start new thread")),
        ("a worker's", 0, DialError("a worker process died")),
    ],
)
def test_a_thread_that_cannot_be_had_ends_the_work_and_hangs_nobody(
    whose: str, left: int, error: Exception, monkeypatch: pytest.MonkeyPatch
):
    caller, room = os.getpid(), iter(range(left))
    start = threading.Thread.start

    def scarce(thread: threading.Thread) -> None:
        if (os.getpid() == caller) == (whose == "the caller's") and next(room, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", scarce)
    with pytest.raises(type(error), match=str(error)):
        list(ordered_map(str, [1], jobs=2))
    for worker in multiprocessing.active_children():
        worker.join(5)
    assert multiprocessing.active_children() == []

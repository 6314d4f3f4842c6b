"""Work in other processes and threads: slots, signals, deaths, and what is fetched ahead."""

from __future__ import annotations

import mmap
import os
import signal
import threading
import time
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from dialtools.errors import DialError
from dialtools.streams import parallel
from dialtools.streams.ahead import ahead, behind
from dialtools.streams.chunks import Chunk
from dialtools.streams.parallel import Left, Slots, ordered_map


def chunk(data: bytes, name: str = "x") -> Chunk:
    return Chunk(name, 1, "jsonl", data)


def test_large_parts_lie_in_a_slot_and_what_has_no_room_goes_through_the_pipe(monkeypatch):
    monkeypatch.setattr(parallel, "SLOT_BYTES", mmap.PAGESIZE)
    slots = Slots(3)
    assert len(slots) == 3 and {len(slot) for slot in slots.slots} == {mmap.PAGESIZE}
    most = b"a" * mmap.PAGESIZE
    for value, sizes in (
        ((chunk(b"ab"), chunk(b""), chunk(b"cde")), [2, 0, 3]),
        (chunk(most), [len(most)]),
        ((chunk(most), chunk(b"b")), []),
        ([1, "x"], []),
    ):
        for slot in (0, 2):
            left = slots.put(slot, value)
            assert left.sizes == sizes and slots.get(slot, left) == value
            assert slots.get(slot, left) == value, "as often as wanted"
    first, second = slots.put(0, chunk(b"one")), slots.put(1, chunk(b"two"))
    assert slots.get(0, first).data == b"one" and slots.get(1, second).data == b"two"
    assert slots.slots[0][:3] == b"one"


def test_one_job_works_here_and_an_item_at_a_time():
    here = [os.getpid()] * 3
    assert list(ordered_map(lambda _: os.getpid(), range(3), jobs=1)) == here
    assert list(ordered_map(lambda _: os.getpid(), range(3), jobs=0)) == here
    others = set(ordered_map(lambda _: os.getpid(), range(9), jobs=2))
    assert os.getpid() not in others and 1 <= len(others) <= 2


def test_results_come_in_order_though_the_first_takes_longest():
    def slow(number: int) -> int:
        time.sleep(0.2 if number == 0 else 0)
        return number

    assert list(ordered_map(slow, range(12), jobs=2)) == list(range(12))


def held(signals: Collection[int]) -> dict[str, Any]:
    return {
        "blocked": [one for one in parallel.HELD if one in signals],
        **{one.name: signal.getsignal(one) for one in parallel.HELD},
    }


def test_workers_leave_ctrl_c_to_their_parent_and_end_when_told():
    (told,) = ordered_map(lambda _: held(signal.pthread_sigmask(signal.SIG_BLOCK, ())), [1], jobs=2)
    assert told == {
        "blocked": [],
        "SIGINT": signal.SIG_IGN,
        "SIGTERM": signal.SIG_DFL,
        "SIGHUP": signal.SIG_IGN,
    }
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(parallel.HELD)


def test_a_worker_ends_with_its_parent():
    read, write = os.pipe()
    parent = os.fork()
    if parent == 0:
        try:
            work = ordered_map(lambda _: os.getpid(), range(99), jobs=2)
            os.write(write, b"%d\n" % next(work))
            os.close(write)
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as told:
        worker = int(told.readline())
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and runs(worker):
        time.sleep(0.01)
    assert not runs(worker)


def runs(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_error_comes_after_the_results_before_it_and_a_death_has_a_hint():
    def fails(number: int) -> int:
        if number == 2:
            raise ValueError("the third")
        return number

    found = []
    with pytest.raises(ValueError, match="the third"):
        found.extend(ordered_map(fails, range(9), jobs=2))
    work = ordered_map(fails, range(9), jobs=2)
    assert [next(work), next(work)] == [0, 1]
    with pytest.raises(ValueError, match="the third"):
        next(work)
    with pytest.raises(DialError, match="a worker process died") as died:
        list(ordered_map(lambda _: os.kill(os.getpid(), signal.SIGKILL), [1], jobs=2))
    assert died.value.hint == "it was killed, or memory was short: fewer --jobs take less"


def test_what_is_left_of_a_value_is_small():
    large = Slots(1).put(0, chunk(b"a" * 10_000))
    assert isinstance(large, Left) and len(large.rest) < 500


# threads


def test_one_item_is_fetched_ahead_and_no_more():
    fetched: list[int] = []
    wanted = threading.Event()

    def items() -> Iterator[int]:
        for number in range(5):
            if number == 2:
                wanted.wait(30)
            fetched.append(number)
            yield number

    source = ahead(items())
    assert fetched == []
    assert next(source) == 0
    for _ in range(30_000):
        if len(fetched) == 2:
            break
        time.sleep(0.001)
    assert fetched == [0, 1]
    wanted.set()
    assert list(source) == [1, 2, 3, 4]
    assert list(ahead([None, 0, ""])) == [None, 0, ""]


def test_a_block_ends_when_all_is_consumed_and_hears_of_a_failure_at_the_next_item():
    eaten: list[int] = []
    handed = threading.Event()

    def slowly(items: Iterator[int]) -> None:
        for item in items:
            handed.wait(30)
            eaten.append(item)

    with behind(slowly) as hand_on:
        for item in range(3):
            hand_on(item)
        assert eaten == []
        handed.set()
    assert eaten == [0, 1, 2]

    def fails(items: Iterator[int]) -> None:
        next(items)
        raise ValueError("no room")

    items = 0
    with pytest.raises(ValueError, match="no room"), behind(fails) as hand_on:
        for items in range(10_000):
            hand_on(items)
            time.sleep(0.001)
    assert items < 9_999
    with pytest.raises(ValueError, match="no room"), behind(fails) as hand_on:
        hand_on(0)

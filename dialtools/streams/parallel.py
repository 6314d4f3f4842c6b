"""One function over many chunks, in order, in several processes."""

from __future__ import annotations

import mmap
import multiprocessing
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, TypeVar

from dialtools.streams.allocator import keep_freed_memory

T = TypeVar("T")
R = TypeVar("R")

SLOT_BYTES = 16 << 20  # address space; only what is written takes memory


def ordered_map(function: Callable[[T], R], items: Iterable[T], *, jobs: int) -> Iterator[R]:
    """Yield `function(item)` in the order of the items.

    Args:
        function: runs in the workers, which inherit it.
        items: picklable, as the results must be; what they pickle out of band travels in shared
            memory.
        jobs: processes; 1 runs here. At most `jobs + 2` items are in flight, so memory stays
            bounded.
    """
    keep_freed_memory()
    if jobs <= 1:
        yield from map(function, items)
        return
    slots = Slots(jobs + 2)
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), _start, (function, slots))
    waiting: deque[tuple[int, Future[Any]]] = deque()
    try:
        for number, item in enumerate(items):
            slot = number % len(slots)
            if len(waiting) == len(slots):
                yield slots.get(slot, waiting.popleft()[1].result())
            waiting.append((slot, pool.submit(_work, slot, slots.put(slot, item))))
        while waiting:
            slot, future = waiting.popleft()
            yield slots.get(slot, future.result())
    finally:
        for _, future in waiting:
            future.cancel()
        pool.shutdown(wait=True, cancel_futures=True)


class Slots:
    """Memory that parent and workers share, as pipes are slow with megabytes: one slot for each item in flight."""

    def __init__(self, count: int) -> None:
        self.slots = [mmap.mmap(-1, SLOT_BYTES) for _ in range(count)]

    def __len__(self) -> int:
        return len(self.slots)

    def put(self, slot: int, value: Any) -> tuple[bytes, list[int]]:
        """Leave a value's large parts in a slot; return the rest of it, and the sizes of those parts."""
        parts: list[pickle.PickleBuffer] = []
        rest = pickle.dumps(value, protocol=5, buffer_callback=parts.append)
        views = [part.raw() for part in parts]
        if sum(view.nbytes for view in views) > SLOT_BYTES:
            return pickle.dumps(value, protocol=5), []
        memory = self.slots[slot]
        memory.seek(0)
        for view in views:
            memory.write(view)
        return rest, [view.nbytes for view in views]

    def get(self, slot: int, left: tuple[bytes, list[int]]) -> Any:
        """Return a value that `put` left."""
        rest, sizes = left
        memory = self.slots[slot]
        memory.seek(0)
        return pickle.loads(rest, buffers=[memory.read(size) for size in sizes])


_worker: tuple[Callable[[Any], Any], Slots]


def _start(function: Callable[[Any], Any], slots: Slots) -> None:
    global _worker
    _worker = function, slots
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the whole group; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _work(slot: int, left: tuple[bytes, list[int]]) -> tuple[bytes, list[int]]:
    function, slots = _worker
    return slots.put(slot, function(slots.get(slot, left)))

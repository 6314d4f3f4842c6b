"""Two things at a time: the next item while the last one is worked on, or what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


def ahead(items: Iterable[T]) -> Generator[T]:
    """Yield the items; a thread fetches one ahead, and what it raises is raised here.

    To close it is to wait for that thread.
    """
    end = object()
    source = iter(items)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, source, end)
        while (item := waiting.result()) is not end:
            waiting = pool.submit(next, source, end)
            yield item  # type: ignore[misc]


class _BrokenOff(Exception):
    """The block that handed on items has failed."""


@contextmanager
def behind(consume: Callable[[Iterator[T]], object]) -> Generator[Callable[[T], None]]:
    """Yield a function that queues items for `consume`, which runs in a thread.

    The block ends after `consume` has.

    Where the block fails, so does the iterator of `consume`. What `consume` raises is raised when
    the next item is handed on, or at the end.
    """
    end, broken_off = object(), object()
    queue: SimpleQueue[Any] = SimpleQueue()

    def items() -> Iterator[T]:
        while (item := queue.get()) is not end:
            if item is broken_off:
                raise _BrokenOff
            yield item

    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(consume, items())

        def hand_on(item: T) -> None:
            if work.done():
                work.result()
            queue.put(item)

        try:
            yield hand_on
        except BaseException:
            queue.put(broken_off)
            wait([work])
            raise
        queue.put(end)
        work.result()

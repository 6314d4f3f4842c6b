"""The next item while the last one is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the items; a thread fetches one ahead, and what it raises is raised here."""
    end = object()
    source = iter(items)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, source, end)
        while (item := waiting.result()) is not end:
            waiting = pool.submit(next, source, end)
            yield item  # type: ignore[misc]

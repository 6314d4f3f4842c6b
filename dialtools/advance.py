"""How work of many steps tells how far it is: to a progress bar, or to nobody."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[int], None]
"""Is told of each step, or of so many."""


def silent(_steps: int) -> None:
    """Tell nobody."""


def scaled(advance: Advance, steps: int, parts: int) -> Advance:
    """Return what is told of parts, one or more, and tells as many of all the steps."""
    done = told = 0

    def tell(more: int) -> None:
        nonlocal done, told
        done += more
        now = done * steps // parts
        advance(now - told)
        told = now

    return tell

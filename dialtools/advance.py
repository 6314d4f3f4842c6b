"""How work of many steps tells how far it is: to a progress bar, or to nobody."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[int], None]
"""Is told of each step, or of so many."""


def silent(_steps: int) -> None:
    """Tell nobody."""

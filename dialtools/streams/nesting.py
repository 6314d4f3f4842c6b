"""How deep a record nests: JSON is read to 1,024 levels, but written to 254."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dialtools.streams import bounds
from dialtools.streams.policy import Policy, Where

NESTED = (dict, list)


def shortest() -> int:
    """Return the bytes of the shortest line that nests too deep: each level opens and closes."""
    return 2 * (bounds.most("nesting") + 1)


def may_nest(line: bytes) -> bool:
    """Tell whether a line of JSON opens more levels than are allowed, one after another or not."""
    return line.count(b"[") + line.count(b"{") > bounds.most("nesting")


def too_deep(record: Any) -> bool:
    """Tell whether a record nests deeper than is allowed; it is itself the first level."""
    level: list[Any] = [record]
    for _ in range(bounds.most("nesting")):
        level = [value for held in level for value in _values(held) if type(value) in NESTED]
        if not level:
            return False
    return True


def _values(held: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return held.values() if isinstance(held, dict) else held


def reject(policy: Policy, where: Where, raw: object) -> None:
    """Reject a record that nests too deep."""
    error = bounds.beyond("nesting", "nested deeper than", where=where, of="levels")
    policy.reject(where, error.message, raw, error.hint)

"""How long a tokenizer's normalizers may make a text: forty doublings of a letter fill a memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from dialtools.errors import ModelError

MOST = 100_000
"""Characters that may become of one; usual normalizers make 3 or 4, of a blank or of a byte."""
OF_ONE = {"ByteLevel": 4, "BertNormalizer": 3}
"""Characters that normalizers make of one at most; those that are not here do not grow by turns."""


def refuse_growth(path: Path) -> None:
    """Refuse a tokenizer.json that makes too much of a text; before it is loaded, as that does it.

    Raises:
        ModelError: naming the file. One that is no JSON is left to its own reader.
    """
    try:
        content = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return
    if isinstance(content, dict) and sum(growth(content.get("normalizer"))) > MOST:
        message = f"its normalizers make more than {MOST:,} characters of one"
        raise ModelError(message, where=path)


def growth(normalizer: Any) -> tuple[int, int]:
    """Return how many times as long a text becomes, and by how many characters besides.

    At most, and no more than is too much.
    """
    times, besides = 1, 0
    for part in _parts(normalizer):
        factor, more = _grown(part)
        times, besides = min(times * factor, 1 + MOST), min(besides * factor + more, 1 + MOST)
    return times, besides


def _parts(normalizer: Any) -> list[dict[str, Any]]:
    """Return the normalizers that follow each other; what is none is left to its reader."""
    left, parts = [normalizer], []
    while left:
        one = left.pop()
        if not isinstance(one, dict):
            continue
        inner = one.get("normalizers")
        if isinstance(inner, list):
            left += reversed(inner)
        else:
            parts.append(one)
    return parts


def _grown(part: dict[str, Any]) -> tuple[int, int]:
    """Return the same of one normalizer."""
    kind = part.get("type")
    if kind == "Prepend":
        return 1, len(str(part.get("prepend")))
    if kind != "Replace":
        return OF_ONE.get(str(kind), 1), 0
    new, pattern = len(str(part.get("content"))), part.get("pattern")
    old = pattern.get("String") if isinstance(pattern, dict) else None
    if not isinstance(old, str) or not old:  # an expression may find nothing between two letters
        return 1 + new, new
    return max(1, -(-new // len(old))), 0

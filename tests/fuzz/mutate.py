"""What a stranger does to records and bytes: each function makes one change, drawn at random."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

KEPT = "\x00key"
"""Before a field that stands twice in its object."""
DEEP = "\x00nested {}"
"""A text that stands for a list in so many lists, which json could not write."""
ODD_TEXTS = (
    *("", " ", "\x00", "\ud800", "\udcff", "\ufffe", "\ufeff", "\u202e", "\u2066", "\u2028"),
    *(
        "\r",
        "\n",
        "\r\n",
        "\t",
        "\x1b]0;x\x07",
        "\x1b[2J",
        "\x7f",
        "\x85",
        "\x9b",
        "e" + "\u0301" * 50,
    ),
    *("{", "}", "{SLOT}", "{city}", "[city : rome]", "[", "]", ":", "%s", "\\", '"', "'", "=1+1"),
    *("nan", "inf", "-1", "1e999", "null", "true", "١٢", "İ", "ß", "\U0010ffff", "👩‍👩‍👧‍👦"),
    *("x" * 5000, "word " * 2000, "谢" * 3000, "2024-13-45", "9999-12-31T23:59:60Z", "0", "12345"),
)
ODD_NUMBERS = (
    *(0, -1, -0.0, 1.5, 1e300, -1e300, 1e-320, float("nan"), float("inf"), 2**31, 2**53 + 1),
    *(2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**25, 10**400, 99999999999, 1700000000, 1e15),
)
ODD_VALUES = (None, True, False, [], {}, [[]], [None], {"": None}, [{}], [1, "a"], {"text": 5})
ODD_FIELDS = (
    *("id", "text", "turns", "label", "speaker", "context", "embedding", "weight", "count"),
    *("", "\x1b[31m", "a.b", "\ud83d", "dialtools_failed", "template", "split", "synthetic"),
)


def odd(draw: Random) -> Any:
    """Return a value that is not expected."""
    known = draw.choice((ODD_TEXTS, ODD_NUMBERS, ODD_VALUES))
    if draw.random() < 0.03:
        return DEEP.format(draw.choice((30, 250, 260, 400, 1020, 1100, 90000)))
    return copy.deepcopy(draw.choice(known))


def places(value: Any, limit: int = 60) -> list[tuple[Any, Any]]:
    """Return the container and the key of each value within one, the outer before the inner."""
    found, waiting = [], [value]
    while waiting and len(found) < limit:
        at = waiting.pop(0)
        keys = list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
        for key in keys:
            found.append((at, key))
            waiting.append(at[key])
    return found


def mutated(draw: Random, record: Any, changes: int | None = None) -> Any:
    """Return a record with one change, or a few; the record stays as it is."""
    held = [copy.deepcopy(record)]
    for _ in range(changes or draw.choice((1, 1, 1, 2, 3))):
        container, key = draw.choice(places(held))
        draw.choice(CHANGES)(draw, container, key)
    return held[0] if held else None


def _replace(draw: Random, container: Any, key: Any) -> None:
    container[key] = odd(draw)


def _drop(draw: Random, container: Any, key: Any) -> None:
    if isinstance(container, list) and len(container) == 1:
        container[0] = None
    else:
        del container[key]


def _rename(draw: Random, container: Any, key: Any) -> None:
    if isinstance(container, dict):
        container[draw.choice(ODD_FIELDS)] = container.pop(key)


def _double(draw: Random, container: Any, key: Any) -> None:
    if isinstance(container, dict):
        container[f"{KEPT}{key}"] = draw.choice((container[key], odd(draw)))
    else:
        container.insert(key, copy.deepcopy(container[key]))


def _wrap(draw: Random, container: Any, key: Any) -> None:
    value = container[key]
    container[key] = draw.choice(([value], [value, value], {"text": value}, {"a": [value]}))


def _unwrap(draw: Random, container: Any, key: Any) -> None:
    value = container[key]
    if isinstance(value, dict | list) and value:
        container[key] = draw.choice(list(value.values() if isinstance(value, dict) else value))


def _swap(draw: Random, container: Any, key: Any) -> None:
    other = draw.choice(list(container) if isinstance(container, dict) else range(len(container)))
    container[key], container[other] = container[other], container[key]


def _disturb(draw: Random, container: Any, key: Any) -> None:
    """Change the value, and keep its type."""
    value = container[key]
    if isinstance(value, str):
        at = draw.randrange(len(value) + 1)
        end = draw.choice((at, at, len(value)))
        container[key] = value[:at] + draw.choice(ODD_TEXTS) + value[end:]
    elif isinstance(value, int | float):
        container[key] = draw.choice((-value, str(value), [value], *ODD_NUMBERS))
    elif isinstance(value, list) and value:
        container[key] = draw.choice((value[::-1], value * 30, [*value, odd(draw)]))


CHANGES: tuple[Callable[[Random, Any, Any], None], ...] = (
    *(_replace, _replace, _drop, _rename, _double),
    *(_wrap, _unwrap, _swap, _disturb, _disturb, _disturb),
)


def line(draw: Random, record: Any) -> bytes:
    """Return a record as a line of JSON, without its end; fields may stand twice."""
    ascii = draw.random() < 0.5
    blanks = draw.choice(((",", ":"), (", ", ": "), (",\r", ":\t")))
    text = json.dumps(record, ensure_ascii=ascii, separators=blanks).replace("\\u0000key", "")
    deep = re.sub(r'"\\u0000nested (\d+)"', lambda m: "[" * int(m[1]) + "]" * int(m[1]), text)
    return deep.encode("utf-8", "surrogatepass")


def damaged(draw: Random, content: bytes, most: int = 4) -> bytes:
    """Return bytes with one to `most` of them flipped, cut, put in, doubled or moved."""
    held = bytearray(content)
    for _ in range(draw.randint(1, most)):
        at = draw.randrange(len(held) + 1)
        end = min(len(held), at + draw.choice((1, 2, 4, 8, 64, 1000)))
        draw.choice(DAMAGES)(draw, held, at, end)
    return bytes(held)


def _flip(draw: Random, held: bytearray, at: int, end: int) -> None:
    if at < len(held):
        held[at] ^= 1 << draw.randrange(8)


def _byte(draw: Random, held: bytearray, at: int, end: int) -> None:
    held[at : at + 1] = bytes([draw.choice((0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x0D, 0x22))])


def _length(draw: Random, held: bytearray, at: int, end: int) -> None:
    """Put a number in, where a length may stand."""
    size = draw.choice((2, 4, 8))
    number = draw.choice((0, 1, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1))
    place = at & ~3
    held[place : place + size] = (number % 256**size).to_bytes(size, "little")


def _insert(draw: Random, held: bytearray, at: int, end: int) -> None:
    held[at:at] = draw.choice(ODD_TEXTS).encode("utf-8", "surrogatepass")


def _move(draw: Random, held: bytearray, at: int, end: int) -> None:
    part = held[at:end]
    del held[at:end]
    place = draw.randrange(len(held) + 1)
    held[place:place] = part


def _repeat(draw: Random, held: bytearray, at: int, end: int) -> None:
    held[at:at] = held[at:end] * draw.choice((1, 2, 20))


def _remove(draw: Random, held: bytearray, at: int, end: int) -> None:
    del held[at:end]


def _cut(draw: Random, held: bytearray, at: int, end: int) -> None:
    del held[at:]


DAMAGES: tuple[Callable[[Random, bytearray, int, int], None], ...] = (
    *(_flip, _flip, _flip, _byte, _byte, _length, _length),
    *(_insert, _move, _repeat, _remove, _cut),
)

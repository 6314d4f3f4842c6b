"""JSON whose whole numbers keep their digits: those beyond 64 bits become text, not floats."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson

LONG = 19
"""Digits of the least whole number beyond 64 bits, at least."""
STRIDE = 4
"""Of as many bytes one is looked at first: a run of LONG digits has four such neighbours."""
BLOCK = 1 << 20
BEFORE_NUMBERS = np.zeros(256, bool)
BEFORE_NUMBERS[list(b"-:,[ \t\r\n")] = True


def has_long_numbers(data: bytes) -> bool:
    """Tell whether JSON may hold a whole number beyond 64 bits, at a hundredth of reading it."""
    content = np.frombuffer(data, np.uint8)
    parts = (content[max(0, at - LONG) : at + BLOCK] for at in range(0, len(content), BLOCK))
    return any(map(_has_long_number, parts))


def digits_apart(content: np.ndarray, stride: int) -> np.ndarray:
    """Return whether each byte of those a stride apart, and the three after it, are digits."""
    some = content[::stride] - ord("0") < 10  # bytes below "0" become large ones
    return some[:-3] & some[1:-2] & some[2:-1] & some[3:]


def _has_long_number(content: np.ndarray) -> bool:
    if not digits_apart(content, STRIDE).any():
        return False
    runs, length = content - ord("0") < 10, 1
    while length < LONG:  # whether so many digits begin at each byte
        more = min(length, LONG - length)
        runs = runs[:-more] & runs[more:]
        length += more
    starts = np.flatnonzero(runs)
    return bool(BEFORE_NUMBERS[content[starts[starts > 0] - 1]].any())


def loads(data: bytes) -> Any:
    """Return what JSON says; a whole number beyond 64 bits is the text of its digits.

    Raises:
        orjson.JSONDecodeError: if it is none.
    """
    value = orjson.loads(data)  # says what is no JSON, which the other reader takes for some
    if not has_long_numbers(data):
        return value
    try:
        return json.loads(data, parse_int=_whole)
    except RecursionError:
        raise orjson.JSONDecodeError("nested too deep", "", 0) from None


def _whole(digits: str) -> int | str:
    if len(digits) > LONG + 2:
        return digits
    value = int(digits)
    return value if -(2**63) <= value < 2**64 else digits

"""How much of an input is taken at once: more is damaged, or was made to fill memory or disk.

Bounds hold for a whole process, as the library's own (`csv.field_size_limit`) do: a command sets
them once, and its workers inherit them.
"""

from __future__ import annotations

from typing import NamedTuple

from dialtools.errors import DataError
from dialtools.values import byte_size


class Bound(NamedTuple):
    """The default of a bound, what it bounds, and the least and the highest that it may be."""

    most: int
    text: str
    least: int = 1
    highest: int | None = None


BOUNDS = {
    "line": Bound(
        64 << 20, "bytes of a line, a row of CSV, a dialogue in plain text; 1MB at least", 1 << 20
    ),
    "cell": Bound(16 << 20, "characters of a cell of CSV"),
    "nesting": Bound(200, "levels of a record of JSON, up to 250", highest=250),
    "page": Bound(512 << 20, "bytes of pages of Parquet, of a batch of Arrow, once unpacked"),
    "file": Bound(2 << 30, "bytes of a file of a corpus, expanded; it is held in memory"),
    "archive": Bound(64 << 30, "bytes of all files of an archive, expanded"),
    "members": Bound(250_000, "files in an archive"),
    "pairs": Bound(512 << 20, "bytes of the pairs of one dialogue"),
}
"""What --bounds may name, with the defaults."""
SHOWN = 1000
"""Bytes of a line that is too long, where it is put aside."""
UNITS = {30: "GB", 20: "MB", 10: "KB"}

_chosen: dict[str, int] = {}


def size_text(size: int) -> str:
    """Return a size as `parse_bounds` reads it: `64MB`."""
    unit = next((bits for bits in UNITS if size and size % (1 << bits) == 0), None)
    return str(size) if unit is None else f"{size >> unit}{UNITS[unit]}"


DEFAULTS = ", ".join(f"{key}={size_text(bound.most)}" for key, bound in BOUNDS.items())


def parse_bounds(text: str) -> tuple[str, ...]:
    """Check `line=1GB,members=1000`: bounds by name, each once, and sizes above 0."""
    parts = [part.strip().partition("=")[::2] for part in text.split(",")]
    try:
        sizes = {key: byte_size(1)(value) for key, value in parts}
    except ValueError:
        sizes = {}
    if not sizes or len(sizes) < len(parts) or not BOUNDS.keys() >= sizes.keys():
        raise ValueError(f"expected KEY=SIZE[,KEY=SIZE...] of {', '.join(BOUNDS)}")
    for key, size in sizes.items():
        least, highest = BOUNDS[key].least, BOUNDS[key].highest
        if size < least:  # so much is read at once, whatever lines it has
            raise ValueError(f"{key}: expected {size_text(least)} or more")
        if size > (highest or size):
            raise ValueError(f"{key}: expected {highest} or less")
    return tuple(f"{key}={size_text(size)}" for key, size in sizes.items())


def use(bounds: tuple[str, ...]) -> None:
    """Let bounds hold from now on, those not named as they are by default."""
    for key, bound in BOUNDS.items():
        _chosen[key] = bound.most
    for bound in bounds:
        key, _, value = bound.partition("=")
        _chosen[key] = byte_size(1)(value)


def most(key: str) -> int:
    """Return a bound."""
    return _chosen.get(key, BOUNDS[key].most)


def beyond(key: str, what: str, *, where: object, of: str = "") -> DataError:
    """Return the error for something that is beyond a bound.

    Args:
        what: e.g. `a line is longer than`.
        of: of what the bound is a number, if of no bytes.
    """
    more = _chosen and most(key) != BOUNDS[key].highest
    hint = f"--bounds {key}=SIZE allows more" if more else None
    return DataError(f"{what} {size_text(most(key))} {of}".rstrip(), where=where, hint=hint)

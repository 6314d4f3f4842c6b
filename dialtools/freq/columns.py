"""Normalisation of an Arrow column of T texts, by its bytes where that is enough.

ASCII is lower-cased in one pass over the bytes. A text with anything else to do (other letters, a
run of blanks, punctuation to drop) is given to the definition in `normalise`; in most corpora those
are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dialtools.freq.normalise import STEPS, normalise

if TYPE_CHECKING:
    import pyarrow as pa

BLANK = ord(" ")


def normalised(texts: pa.Array, steps: Sequence[str]) -> pa.Array:
    """Return the texts (no nulls) under which they are counted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = _hard_rows(*parts(texts), steps) if steps else ()
    plain = pc.ascii_lower(texts) if "lower" in steps else texts
    if not len(rows):
        return plain
    mask = np.zeros(len(texts), bool)
    mask[rows] = True
    done = [normalise(text, steps) for text in texts.take(pa.array(rows)).to_pylist()]
    return pc.replace_with_mask(plain, pa.array(mask), pa.array(done, pa.string()))


def parts(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the (T+1,) offsets of a column of strings, from 0, and its bytes."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[
        texts.offset : texts.offset + len(texts) + 1
    ]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def _hard_rows(offsets: np.ndarray, data: np.ndarray, steps: Sequence[str]) -> np.ndarray:
    """Return the rows that the definition must do: with a hard byte, a blank beside another, or one at an end."""
    if set(steps) <= {"lower", "space"}:
        hard = data.view(np.int8) < BLANK  # controls and, negative here, all that is not ASCII
    else:
        hard = _hard_bytes(tuple(steps))[data]
    if "space" in steps:
        blank = data == BLANK
        hard[:-1] |= blank[:-1] & blank[1:]
        filled = np.flatnonzero(offsets[1:] > offsets[:-1])
        for ends in (offsets[filled], offsets[filled + 1] - 1):
            hard[ends[blank[ends]]] = True
    return np.unique(np.searchsorted(offsets, np.flatnonzero(hard), side="right") - 1)


@cache
def _hard_bytes(steps: tuple[str, ...]) -> np.ndarray:
    """Tell for each of 256 bytes whether a step may change it; what is not ASCII may always be."""
    hard = np.ones(256, bool)
    for code in range(128):
        doubled = "a".join(chr(code) * 2) + chr(code) * 2  # alone, and in a run
        hard[code] = code != BLANK and any(
            STEPS[step](f"a{doubled}a") != f"a{doubled}a" for step in steps if step != "lower"
        )
    return hard

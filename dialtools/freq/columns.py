"""Arrow columns of texts: taken from a batch, and normalised by their bytes where that is enough.

ASCII is lower-cased in one pass over the bytes. A text with anything else to do (other letters, a
run of blanks, punctuation to drop) is given to the definition in `normalise`; in most corpora those
are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialtools.freq.normalise import STEPS, normalise
from dialtools.streams.text_columns import offsets_and_bytes, replaced, rows_with

BLANK = ord(" ")


def strings(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """Return a column as strings if it is one without gaps."""
    if batch.schema.names.count(name) != 1 or batch[name].null_count:
        return None
    column = batch[name]
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    return column.cast(pa.string())


def integers(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """Return a column as 64-bit integers if it is one of integers without gaps."""
    if batch.schema.names.count(name) != 1 or batch[name].null_count:
        return None
    try:
        return batch[name].cast(pa.int64()) if pa.types.is_integer(batch[name].type) else None
    except pa.ArrowInvalid:  # one of 64 bits without a sign
        return None


def normalised(texts: pa.Array, steps: Sequence[str]) -> pa.Array:
    """Return the texts (no nulls) under which they are counted."""
    if not steps:
        return texts
    rows = _hard_rows(*offsets_and_bytes(texts), steps)
    plain = pc.ascii_lower(texts) if "case" in steps else texts
    if not len(rows):
        return plain
    hard = texts.take(pa.array(rows)).to_pylist()
    return replaced(plain, rows, [normalise(text, steps) for text in hard])


def _hard_rows(offsets: np.ndarray, data: np.ndarray, steps: Sequence[str]) -> np.ndarray:
    """Return the rows that the definition must do.

    Those with a hard byte, with a blank beside another, or with a blank at an end.
    """
    if set(steps) <= {"case", "form", "space"}:
        hard = data.view(np.int8) < BLANK  # controls and, negative here, all that is not ASCII
    else:
        hard = _hard_bytes(tuple(steps))[data]
    if "space" in steps:
        blank = data == BLANK
        hard[:-1] |= blank[:-1] & blank[1:]
        filled = np.flatnonzero(offsets[1:] > offsets[:-1])
        for ends in (offsets[filled], offsets[filled + 1] - 1):
            hard[ends[blank[ends]]] = True
    return rows_with(hard, offsets)


@cache
def _hard_bytes(steps: tuple[str, ...]) -> np.ndarray:
    """Tell for each of 256 bytes whether a step may change it; what is not ASCII may always be."""
    hard = np.ones(256, bool)
    for code in range(128):
        doubled = "a".join(chr(code) * 2) + chr(code) * 2  # alone, and in a run
        sample = f"a{doubled}a"
        changed = (STEPS[step](sample) != sample for step in steps if step != "case")
        hard[code] = code != BLANK and any(changed)
    return hard

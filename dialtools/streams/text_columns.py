"""Arrow columns of texts by their bytes: only texts with what is rare become Python objects."""

from __future__ import annotations

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from dialtools.streams.sound import numbers


def offsets_and_bytes(texts: pa.StringArray) -> tuple[np.ndarray, np.ndarray]:
    """Return (T+1,) where the bytes of each text begin, and the last one's end; and all bytes."""
    if not len(texts):
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    offsets = numbers(texts, 1, np.int32, more=1)
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def lengths(texts: pa.StringArray) -> np.ndarray:
    """Return the (T,) bytes of texts; null has none."""
    of_each = np.diff(offsets_and_bytes(texts)[0])
    if texts.null_count:
        of_each[np.asarray(texts.is_null())] = 0
    return of_each


def rows_with(bytes_B: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the numbers of the texts that some of all bytes (B,) are in, each once."""
    return np.unique(np.searchsorted(offsets, np.flatnonzero(bytes_B), side="right") - 1)


def replaced(texts: pa.StringArray, rows: np.ndarray, by: list[str]) -> pa.StringArray:
    """Return the texts with those of some rows, by their numbers in order, replaced."""
    mask = np.zeros(len(texts), bool)
    mask[rows] = True
    return pc.replace_with_mask(texts, pa.array(mask), pa.array(by, pa.string()))


def escaped(texts: pa.StringArray) -> pa.StringArray:
    """Return the texts as they stand between the quotes of a JSON string."""
    offsets, data = offsets_and_bytes(texts)
    # all that JSON asks to escape; the rest of Unicode may stand as it is
    rows = rows_with((data < ord(" ")) | (data == ord('"')) | (data == ord("\\")), offsets)
    if not len(rows):
        return texts
    odd = texts.take(pa.array(rows)).to_pylist()
    return replaced(texts, rows, [orjson.dumps(text).decode()[1:-1] for text in odd])

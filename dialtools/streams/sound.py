"""Batches of strangers: sound before anything is read from them, and never larger than memory.

Arrow takes offsets, indices and UTF-8 on trust; a reader of such a batch would read beyond its
buffers. A few bytes can stand for a terabyte: one long text named by many rows.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from dialtools.errors import DataError
from dialtools.shown import first_line
from dialtools.streams.bytesio import display_name

SLICE_BYTES = 64 << 20
"""Of a batch written out row by row, at most: what a command holds at once is a multiple of it."""
ROW_BYTES = 1 << 30
"""Of a single row: what is more is no record."""
ROWS_A_BYTE = 8
"""Rows for which some column holds a bit at least; more of them than that are made up."""
FEW_ROWS = 1 << 20
STRING = pa.string()
TEXT = {STRING: np.int32, pa.large_string(): np.int64}
"""Types of texts, and of the offsets at which these begin."""
HALF = 1 << 30
"""Two numbers below it do not overflow when they are added as 32 bits."""
NOT_FIRST = 0b10  # the high bits of a byte of UTF-8 that begins no character


Read = Callable[[io.BufferedReader, str], Iterator[pa.RecordBatch]]


class Unsound(ValueError):
    """Columns that say what cannot be; the message says where."""


def checked(read: Read) -> Read:
    """Let a reader of tables yield sound batches alone, none of which would fill memory."""

    @wraps(read)
    def batches(stream: io.BufferedReader, path: str) -> Iterator[pa.RecordBatch]:
        return sound_batches(read(stream, path), path)

    return batches


def sound_batches(
    batches: Iterator[pa.RecordBatch], path: str, *, whole: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield batches that are sound, those that would fill memory in pieces or, if asked, whole.

    Raises:
        DataError: if one is not sound.
    """
    schema = None
    try:
        for batch in batches:
            if batch.schema is not schema:
                schema = checked_schema(batch.schema)
            sound(batch)
            yield from (batch,) if whole else pieces(batch)
    except Unsound as error:
        raise DataError(str(error), where=display_name(path)) from None


def checked_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema of which each column and field has a name of its own.

    Raises:
        Unsound: naming the one that is there twice, or whose name is not UTF-8.
    """
    try:
        _check_names(list(schema), "")
    except UnicodeDecodeError as error:
        raise Unsound(f"a column's name is not UTF-8: {error.object!r}") from None
    return schema


def _check_names(fields: list[pa.Field], path: str) -> None:
    doubled = [name for name, n in Counter(field.name for field in fields).items() if n > 1]
    if doubled:
        raise Unsound(f"column {path + doubled[0]!r} is there twice")
    for field in fields:
        if types.is_nested(field.type) and not types.is_union(field.type):
            inner = [field.type.field(i) for i in range(field.type.num_fields)]
            _check_names(inner, f"{path}{field.name}.")


def sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose columns lie inside their buffers and whose texts are UTF-8.

    Raises:
        Unsound: naming the column.
    """
    size = batch.get_total_buffer_size()
    if batch.num_rows > max(FEW_ROWS, ROWS_A_BYTE * size):
        raise Unsound(f"damaged: {batch.num_rows:,} rows in {size:,} bytes")
    try:
        batch.validate()  # buffers are as long as the quick checks take them to be
    except pa.ArrowInvalid as error:
        raise Unsound(f"damaged: {first_line(error)}") from None
    for i in range(batch.num_columns):
        column = batch.column(i)
        if not _is_sound(column):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid as error:
                message = f"damaged column {batch.schema.field(i).name!r}: {first_line(error)}"
                raise Unsound(message) from None
    return batch


def _is_sound(array: Any) -> bool:
    """Tell quickly whether an array is sound; if not, Arrow's own check has the last word."""
    kind = array.type
    if types.is_primitive(kind):
        return True
    if kind in TEXT:
        return _are_texts(array)
    if types.is_list_view(kind):
        return _are_views(array) and _is_sound(array.values)
    if types.is_list(kind):
        offsets = numbers(array, 1, np.int32, more=1)
        return _are_offsets(offsets, len(array.values)) and _is_sound(array.values)
    return types.is_fixed_size_list(kind) and _is_sound(array.values)


def numbers(array: Any, buffer: int, kind: Any, *, more: int = 0) -> np.ndarray:
    """Return offsets or sizes of an array as they lie in a buffer, which may end within one."""
    content = array.buffers()[buffer]
    if content is None:  # of an array without rows
        return np.zeros(0, kind)
    whole = content.size // np.dtype(kind).itemsize
    return np.frombuffer(content, kind, whole)[array.offset : array.offset + len(array) + more]


def _are_texts(array: Any) -> bool:
    """Tell whether texts are UTF-8: all bytes together are, and none begins inside a character."""
    offsets = numbers(array, 1, TEXT[array.type], more=1)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    if not _are_offsets(offsets, len(data)):
        return False
    text = data[offsets[0] : offsets[-1]] if len(offsets) else data[:0]
    if not len(text) or text.max() < 128:
        return True
    begins = offsets[:-1][offsets[:-1] < offsets[-1]]
    return not (data[begins] >> 6 == NOT_FIRST).any() and is_utf8(one_text(text, array.type))


def one_text(data: Any, kind: pa.DataType = STRING) -> pa.Array:
    """Return a column of one text of these bytes, whether they are UTF-8 or not, without a copy."""
    ends = pa.py_buffer(np.array([0, len(data)], TEXT[kind]))
    return pa.Array.from_buffers(kind, 1, [None, ends, pa.py_buffer(data)])


def is_utf8(texts: pa.Array) -> bool:
    """Tell whether the bytes of a column of texts are UTF-8, which Arrow does not ask for."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _are_offsets(offsets: np.ndarray, size: int) -> bool:
    if not len(offsets):
        return True
    rising = bool((offsets[1:] >= offsets[:-1]).all())
    return rising and offsets[0] >= 0 and offsets[-1] <= size


def _are_views(array: Any) -> bool:
    """Tell whether views begin and end among the values, of which there are less than 2^30."""
    starts, sizes = (numbers(array, buffer, np.uint32) for buffer in (1, 2))  # below 0 is large
    most = len(array.values)
    if not len(starts):
        return True
    inside = starts.max() <= most < HALF and sizes.max() <= most
    return bool(inside and (starts + sizes).max() <= most)


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield a sound batch, cut by rows where written out it would fill memory.

    Raises:
        Unsound: if a single row would.
    """
    kinds = [field.type for field in batch.schema]
    repeated = [i for i, kind in enumerate(kinds) if _repeats(kind)]
    size = batch.get_total_buffer_size() + sum(_written(batch.column(i)) for i in repeated)
    if size > SLICE_BYTES and len(batch) > 1:  # slices have the buffers of the whole
        size = sum(_written(column) for column in batch.columns)
    if size <= SLICE_BYTES or not batch.num_rows:
        yield batch
    elif batch.num_rows > 1:
        half = batch.num_rows // 2
        yield from pieces(batch.slice(0, half))
        yield from pieces(batch.slice(half))
    elif size <= ROW_BYTES:
        yield batch
    else:
        raise Unsound(f"a row of {size >> 20:,} MiB, more than {ROW_BYTES >> 20:,}")


@lru_cache
def _repeats(kind: pa.DataType) -> bool:
    """Tell whether rows of a type may share a value, which is written out for each."""
    if types.is_primitive(kind) or kind in TEXT:
        return False
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        return _repeats(kind.value_type)
    return True


def _written(array: Any) -> int:
    """Return the bytes of an array's values, written out, at most."""
    kind = array.type
    if types.is_primitive(kind):
        return 8 * len(array)
    if kind in TEXT:
        offsets = numbers(array, 1, TEXT[kind], more=1)
        return int(offsets[-1] - offsets[0]) if len(offsets) else 0
    if types.is_dictionary(kind):
        return len(array) * _longest(array.dictionary)
    if types.is_run_end_encoded(kind):
        return len(array) * _longest(array.values)
    if types.is_list_view(kind):
        return int(numbers(array, 2, np.int32).sum(dtype=np.int64)) * _longest(array.values)
    if types.is_large_list_view(kind):
        return int(numbers(array, 2, np.int64).sum()) * _longest(array.values)
    if types.is_list(kind) or types.is_large_list(kind):
        return 8 * len(array) + _written(array.flatten())
    if types.is_struct(kind):
        return sum(_written(array.field(i)) for i in range(kind.num_fields))
    return array.nbytes


def _longest(array: Any) -> int:
    """Return the bytes of an array's longest value, written out, at most."""
    kind = array.type
    if not len(array):
        return 0
    if kind in TEXT:
        offsets = numbers(array, 1, TEXT[kind], more=1)
        return 8 + int((offsets[1:] - offsets[:-1]).max())
    return 8 if types.is_primitive(kind) else _written(array)

"""Columns as rows: what JSON has a kind for as Python values, everything else as `Carried`.

The text of what is carried: times in ISO 8601 with all their digits (those of a zone in UTC),
durations as PT1.5S, decimals as digits, bytes in base64.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from dialtools.streams.carried import Carried

PER_SECOND = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Digits after the point."""
_PLAIN = (
    types.is_string,
    types.is_integer,
    types.is_floating,
    types.is_boolean,
    types.is_null,
    types.is_large_string,
    types.is_string_view,
)


def rows(
    batch: pa.RecordBatch, names: Collection[str] | None = None, *, gaps: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a sound batch; a field that is null is not there.

    Args:
        names: the only columns that are wanted.
        gaps: keep the fields that are null.
    """
    wanted = [name for name in batch.schema.names if names is None or name in names]
    columns = [values(batch[name]) for name in wanted]
    if not columns:
        yield from ({} for _ in range(batch.num_rows))
    for row in zip(*columns, strict=True):
        yield {k: v for k, v in zip(wanted, row, strict=True) if gaps or v is not None}


def values(array: pa.Array) -> list[Any]:
    """Return the values of a sound column.

    Of dictionaries and views, rows that share a text share one object.
    """
    if _is_plain(array.type):
        return array.to_pylist()  # by far the most columns
    convert = next((made for fits, made in _CONVERT if fits(array.type)), _carried)
    return convert(array)


@lru_cache
def _is_plain(kind: pa.DataType) -> bool:
    """Tell whether JSON has a kind for all values of a type (dictionaries share theirs)."""
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(_is_plain(field.type) for field in kind)
    return any(fits(kind) for fits in _PLAIN)


def _carried(array: pa.Array) -> list[Any]:
    return [Carried(scalar) if scalar.is_valid else None for scalar in array]


def _of_dictionary(array: pa.DictionaryArray) -> list[Any]:
    words = values(array.dictionary)
    return [None if i is None else words[i] for i in array.indices.to_pylist()]


def _of_lists(array: Any) -> list[Any]:
    """Return lists or views, large ones or not, of one copy of their values."""
    offsets = np.asarray(array.offsets, np.int64)
    is_view = types.is_list_view(array.type) or types.is_large_list_view(array.type)
    starts = offsets if is_view else offsets[:-1]
    ends = starts + np.asarray(array.sizes, np.int64) if is_view else offsets[1:]
    ends = np.maximum(starts, ends)
    first = 0 if is_view else int(offsets[0])
    last = int(ends.max(initial=first))
    parts = values(array.values.slice(first, last - first))
    spans = zip((starts - first).tolist(), (ends - first).tolist(), strict=True)
    return _with_gaps(array, [parts[start:end] for start, end in spans])


def _of_fixed_lists(array: pa.FixedSizeListArray) -> list[Any]:
    size = array.type.list_size
    parts = values(array.values.slice(array.offset * size, len(array) * size))
    return _with_gaps(array, [parts[i * size : (i + 1) * size] for i in range(len(array))])


def _of_maps(array: pa.MapArray) -> list[Any]:
    """Return the entries of each map as a list of [key, value]: keys need not be texts."""
    entries = _of_lists(array)
    return [None if row is None else [list(entry.values()) for entry in row] for row in entries]


def _of_structs(array: pa.StructArray) -> list[Any]:
    names = [field.name for field in array.type]
    columns = [values(array.field(i)) for i in range(len(names))]  # cut as the array is
    found: Any = zip(*columns, strict=True) if columns else (() for _ in range(len(array)))
    return _with_gaps(array, [dict(zip(names, row, strict=True)) for row in found])


def _of_union(array: Any) -> list[Any]:
    # of a null the inner scalar is none at all
    return [values(alone(scalar.value))[0] if scalar.is_valid else None for scalar in array]


def alone(scalar: Any) -> Any:
    """Return a column of one value."""
    return pa.array([scalar], scalar.type)


def _with_gaps(array: pa.Array, found: list[Any]) -> list[Any]:
    if not array.null_count:
        return found
    valid = array.is_valid().to_pylist()
    return [value if there else None for value, there in zip(found, valid, strict=True)]


def _has_storage(kind: pa.DataType) -> bool:
    """Tell whether an extension is of values that mean something without it, as a uuid's do not."""
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name != "arrow.uuid"


_CONVERT: tuple[tuple[Callable[[Any], bool], Callable[[Any], list[Any]]], ...] = (
    (_has_storage, lambda array: values(array.storage)),
    (types.is_dictionary, _of_dictionary),
    (types.is_run_end_encoded, lambda array: values(pc.run_end_decode(array))),
    (types.is_list, _of_lists),
    (types.is_large_list, _of_lists),
    (types.is_list_view, _of_lists),
    (types.is_large_list_view, _of_lists),
    (types.is_fixed_size_list, _of_fixed_lists),
    (types.is_map, _of_maps),
    (types.is_struct, _of_structs),
    (types.is_union, _of_union),
)


def text_of_scalar(scalar: Any) -> str:
    """Return the text of a value that JSON has no kind for."""
    kind = scalar.type
    write = next((made for fits, made in _TEXT if fits(kind)), None)
    return write(scalar) if write else str(scalar.as_py())


def _timestamp(scalar: Any) -> str:
    zone = "+00:00" if scalar.type.tz else ""
    return f"{_short(np.datetime64(scalar.value, scalar.type.unit))}{zone}"


def _short(when: np.datetime64) -> str:
    """Return a time in ISO 8601 without zeros at the end of a fraction."""
    text = str(when)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _date(scalar: Any) -> str:
    unit = "D" if types.is_date32(scalar.type) else "ms"
    return str(np.datetime64(scalar.value, unit).astype("datetime64[D]"))


def _time(scalar: Any) -> str:
    return _short(np.datetime64(scalar.value, scalar.type.unit)).partition("T")[2]


def _seconds(count: int, digits: int) -> str:
    """Return a count of parts of a second as seconds, exactly."""
    return f"{Decimal(count).scaleb(-digits):f}S"


def _duration(scalar: Any) -> str:
    return f"PT{_seconds(scalar.value, PER_SECOND[scalar.type.unit])}"


def _interval(scalar: Any) -> str:
    months, days, nanoseconds = scalar.as_py()
    return f"P{months}M{days}DT{_seconds(nanoseconds, PER_SECOND['ns'])}"


def _bytes(scalar: Any) -> str:
    return base64.b64encode(scalar.as_py()).decode()


_TEXT: tuple[tuple[Callable[[Any], bool], Callable[[Any], str]], ...] = (
    (types.is_timestamp, _timestamp),
    (types.is_date, _date),
    (types.is_time, _time),
    (types.is_duration, _duration),
    (lambda kind: kind == pa.month_day_nano_interval(), _interval),
    (types.is_binary, _bytes),
    (types.is_large_binary, _bytes),
    (types.is_fixed_size_binary, _bytes),
    (types.is_binary_view, _bytes),
)

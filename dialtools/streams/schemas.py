"""The types of columns that are made of records, of one batch and of those that follow it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from dialtools.errors import DataError

NO_COLUMN = (pa.ArrowException, OverflowError, TypeError, ValueError)
"""What pyarrow raises of values, types and schemas that do not go together."""


def column_of(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array:
    """Return values as a column of a type, with nothing lost; without one, of that which they have.

    Whole numbers have 64 bits, with a sign or without. pyarrow itself, told a type, cuts 4.5 to 4.

    Raises:
        NO_COLUMN: if the values are not of one type, or not of this.
        DataError: if they are too long together for one column.
    """
    try:
        column = pa.array(values)
    except OverflowError:
        column = pa.array(values, pa.uint64())
    if isinstance(column, pa.ChunkedArray):
        raise DataError("texts of more than 2 GiB in one batch", hint="take fewer rows at a time")
    return column if kind is None else _held(column, kind)


def schema_of(rows: Sequence[Mapping[str, Any]]) -> pa.Schema:
    """Return the schema that records show."""
    return pa.schema([(name, column.type) for name, column in columns_of(rows).items()])


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Return the columns of records by name, in the order in which they occur first."""
    return {name: column_of(values) for name, values in by_column(rows).items()}


def by_column(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the values of records by field; what one lacks is None."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def wider(known: pa.DataType, fresh: pa.DataType) -> pa.DataType:
    """Return the narrowest type that holds the values of two: of nothing and texts, texts; of whole
    numbers and decimals, decimals.

    Raises:
        ArrowException: if there is none.
    """
    if known == pa.uint64() and fresh == pa.int64():
        return known  # those without a sign are among its values
    if (known, fresh) == (pa.int64(), pa.uint64()):
        raise pa.ArrowTypeError("int64 does not hold uint64")
    return united([pa.schema([("column", kind)]) for kind in (known, fresh)]).field(0).type


def united(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return the schema that batches of all these have a place in.

    Raises:
        ArrowException: if there is none.
    """
    return pa.unify_schemas([*schemas], promote_options="permissive")


def fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch under a schema, where it loses nothing; what it lacks is null.

    Raises:
        NO_COLUMN: if it has other columns or wider types.
    """
    if batch.schema.equals(schema):
        return batch
    if more := [name for name in batch.schema.names if name not in schema.names]:
        raise pa.ArrowInvalid(f"fields that those before did not have: {', '.join(more)}")
    columns = [
        _held(batch[field.name], field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the types of a schema of the same names.

    pyarrow 26 spoils lists of nulls where it casts them to the type that they have.

    Raises:
        ArrowException: if it has other names, or values that the types do not hold.
    """
    if batch.schema.names != schema.names:
        raise pa.ArrowInvalid(f"expected {schema.names}, found {batch.schema.names}")
    pairs = zip(batch.columns, schema.types, strict=True)
    columns = [column if column.type == kind else column.cast(kind) for column, kind in pairs]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _held(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if pa.types.is_integer(kind) and pa.types.is_floating(column.type):
        return column.cast(kind)  # which refuses what is not whole
    if wider(kind, column.type) != kind:
        raise pa.ArrowTypeError(f"{kind} does not hold {column.type}")
    return column.cast(kind)

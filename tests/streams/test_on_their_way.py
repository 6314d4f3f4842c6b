"""Records on their way through a command: kept as they came, put aside, given a field more."""

from __future__ import annotations

import sys
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest

from dialtools.errors import ConfigError
from dialtools.streams import exact
from dialtools.streams.carried import Carried
from dialtools.streams.chunks import Chunk
from dialtools.streams.payloads import (
    Kept,
    PayloadSpool,
    batch_with,
    lines_with,
    passed_on_format,
    records_of,
)

BATCH = pa.RecordBatch.from_pydict({"a": [1, 2, 3], "b": ["x", None, "z"]})
LONG = 10**25


def test_lines_that_are_kept_are_those_that_came_without_the_blanks_at_their_ends():
    kept = Kept(Chunk("x", 5, "jsonl", b'{"a": 1} \r\n\n {"b":\t2}\n{"c":3}'))
    for number in (5, 7, 8):
        kept.keep(number, {})
    assert kept.payload() == b'{"a": 1}\n {"b":\t2}\n{"c":3}\n'
    assert Kept(Chunk("x", 1, "jsonl", b"{}\n")).payload() == b""
    other = Kept(Chunk("x", 5, "text", b"a\nb\n"))
    other.keep(6, {"text": "b", "n": Decimal(1)})
    assert other.payload() == b'{"text":"b","n":"1"}\n'


def test_rows_that_are_kept_are_those_of_their_batch():
    for rows in ([10, 11, 12], [12], [10, 12], []):
        kept = Kept(Chunk("x", 10, "arrow", BATCH))
        for number in rows:
            kept.keep(number, {})
        payload: Any = kept.payload()
        assert payload["a"].to_pylist() == [number - 9 for number in rows]
        assert payload.schema == BATCH.schema and (payload is BATCH) is (len(rows) == 3)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b", "c"], pa.string_view()),
        pa.array([b"a", b"b", b"c"], pa.binary_view()),
        pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "c"]),
    ],
    ids=["texts by view", "bytes by view", "run ends"],
)
def test_rows_are_kept_of_columns_that_arrow_takes_no_rows_of(column: pa.Array):
    kept = Kept(Chunk("x", 1, "arrow", pa.RecordBatch.from_arrays([column], ["a"])))
    kept.keep(1, {})
    kept.keep(3, {})
    payload: Any = kept.payload()
    assert payload["a"].to_pylist() == [column[0].as_py(), column[2].as_py()]


def test_what_is_put_aside_comes_back_in_its_order_as_often_as_wanted():
    spool = PayloadSpool()
    assert not spool.columnar and list(spool) == []
    for payload in (BATCH, BATCH.slice(1)):
        spool.add(payload)
    assert spool.columnar
    spool.add(b'{"a":1}\n')
    spool.add(b"")
    assert not spool.columnar
    for _ in range(2):
        assert list(spool) == [BATCH, BATCH.slice(1), b'{"a":1}\n', b""]
    spool.close()
    assert spool.file.closed


def test_records_of_lines_and_of_columns_are_those_that_came():
    assert list(records_of(b'{"a":1}\n{"b":%d}\n' % LONG)) == [{"a": 1}, {"b": str(LONG)}]
    assert list(records_of(BATCH)) == [{"a": 1, "b": "x"}, {"a": 2}, {"a": 3, "b": "z"}]
    assert list(records_of(b"")) == []


def test_a_field_more_stands_last_or_in_place_of_one_of_its_name():
    values, which = [b"0.5", b'"x"'], [1, 0, 1]
    three = b'{"a":1}\n{"a": 2 }\n{"a":3}\n'
    assert lines_with(three, "w", values, which) == (
        b'{"a":1,"w":"x"}\n{"a": 2 ,"w":0.5}\n{"a":3,"w":"x"}\n'
    )
    named = b'{"w":7,"b":1}\n{"b": 2}\n{"b":"\\u0077", "\\u0077":%d}\n' % LONG
    assert lines_with(named, "w", values, which) == (
        b'{"w":"x","b":1}\n{"b": 2,"w":0.5}\n{"b":"w","w":"x"}\n'
    )
    escaped = b'{"\\u0077":1}\n'
    assert lines_with(escaped, "w", values, [0]) == b'{"w":0.5}\n'
    assert lines_with(BATCH, "w", values, which) == (
        b'{"a":1,"b":"x","w":"x"}\n{"a":2,"w":0.5}\n{"a":3,"b":"z","w":"x"}\n'
    )
    assert lines_with(b"", "w", values, []) == b""


def test_a_column_more_stands_last_or_in_place_of_one_of_its_name():
    column = pa.array([0.5, 1, None])
    more, other = batch_with(BATCH, "w", column), batch_with(BATCH, "a", column)
    assert more.schema.names == ["a", "b", "w"] and other.schema.names == ["a", "b"]
    assert more["w"].equals(column) and other["a"].equals(column)
    assert more["a"] == BATCH["a"] and other["b"] == BATCH["b"]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_pipe_gets_columns_of_columns_and_a_terminal_lines(terminal: bool, monkeypatch):
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: terminal))
    assert passed_on_format("-", None, columnar=True) == ("jsonl" if terminal else "arrow")
    assert passed_on_format("-", None, columnar=False) == "jsonl"
    assert passed_on_format("x", None, columnar=True) == "jsonl"
    assert passed_on_format("x.parquet", None, columnar=True) == "parquet"
    assert passed_on_format("-", "jsonl", columnar=True) == "jsonl"
    if terminal:
        with pytest.raises(ConfigError):
            passed_on_format("-", "arrow", columnar=True)


# whole numbers beyond 64 bits


@pytest.mark.parametrize("digits", [17, 18, 19, 20, 21, 30])
@pytest.mark.parametrize("before", [b"[", b"[-", b"[1,", b"[ ", b"[\t", b"[\r", b"[\n", b'{"a":'])
@pytest.mark.parametrize("offset", range(4))
def test_a_run_of_nineteen_digits_or_more_is_found_wherever_it_begins(digits, before, offset):
    data = b" " * offset + before + b"9" * digits
    assert exact.has_long_numbers(data) is (digits >= exact.LONG)
    assert exact.has_long_numbers(data + b"]") is (digits >= exact.LONG)
    assert not exact.has_long_numbers(b" " * offset + b"[0." + b"9" * digits + b"]")
    assert not exact.has_long_numbers(b" " * offset + b'["a' + b"9" * digits + b'"]')


@pytest.mark.parametrize("block", [30, 31, 40, 41, 50])
def test_a_run_that_crosses_from_block_to_block_is_found(block: int, monkeypatch):
    monkeypatch.setattr(exact, "BLOCK", block)
    for at in range(80):
        data = b"[" + b"1," * (at // 2) + b" " * (at % 2) + b"9" * 19 + b"]" + b" " * 50
        assert exact.has_long_numbers(data)
        assert not exact.has_long_numbers(data.replace(b"9" * 19, b"9" * 18))


def test_a_long_text_is_looked_through_once_piece_by_piece(monkeypatch: pytest.MonkeyPatch):
    looked_at: list[int] = []
    look = exact._has_long_number

    def noted(content: np.ndarray) -> bool:
        looked_at.append(len(content))
        return look(content)

    monkeypatch.setattr(exact, "_has_long_number", noted)
    assert not exact.has_long_numbers(b" " * (3 * exact.BLOCK + 5))
    whole = exact.BLOCK + exact.LONG
    assert looked_at == [exact.BLOCK, whole, whole, 5 + exact.LONG]


def test_numbers_are_text_only_where_64_bits_do_not_hold_them(monkeypatch):
    for number in (2**64 - 1, -(2**63), 10**18, 0, 2**63):
        assert exact.loads(b"[%d]" % number) == [number]
    for number in (2**64, -(2**63) - 1, LONG, -LONG, 10**22, 10**300):
        assert exact.loads(b"[%d,1]" % number) == [str(number), 1]
    for none in (b"[NaN]", b"[1e999", b"[Infinity,%d]" % LONG):
        with pytest.raises(orjson.JSONDecodeError):
            exact.loads(none)
    deep = b"[" * 9 + b"%d" % LONG + b"]" * 9
    monkeypatch.setattr(exact.json, "loads", too_deep)
    with pytest.raises(orjson.JSONDecodeError, match="nested too deep"):
        exact.loads(deep)


def too_deep(*_: Any, **__: Any) -> None:
    raise RecursionError


def test_what_is_carried_is_written_by_its_text():
    kept = Kept(Chunk("x", 1, "rows", [{}]))
    kept.keep(1, {"a": Carried(pa.scalar(Decimal("1.50")))})
    assert kept.payload() == b'{"a":"1.50"}\n'

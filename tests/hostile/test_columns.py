"""Columns of strangers: checked before use, bounded, never in the way of those in use."""

from __future__ import annotations

import io
import struct
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools.errors import DataError
from dialtools.streams.chunks import read_chunks, read_records
from dialtools.streams.policy import Policy
from dialtools.streams.rows import values
from dialtools.streams.sound import Unsound, pieces, sound

Run = Callable[..., subprocess.CompletedProcess]

TURNS = [[{"speaker": "user", "text": "a b c"}, {"speaker": "system", "text": "d e f"}]] * 2
KINDS = pa.array([0, 1], pa.int8())
ODD: dict[str, tuple[pa.Array, Any]] = {
    "nanoseconds": (
        pa.array([1_700_000_000_123_456_789] * 2, pa.timestamp("ns")),
        "2023-11-14T22:13:20.123456789",
    ),
    "zone": (
        pa.array([1_700_000_000_123_456_789] * 2, pa.timestamp("ns", "Mars/Phobos")),
        "2023-11-14T22:13:20.123456789+00:00",
    ),
    "late": (pa.array([10**12] * 2, pa.timestamp("s")), "33658-09-27T01:46:40"),
    "day": (pa.array([2**30] * 2, pa.date32()), "2941775-04-07"),
    "time": (pa.array([1] * 2, pa.time64("ns")), "00:00:00.000000001"),
    "duration": (pa.array([-5] * 2, pa.duration("ns")), "PT-0.000000005S"),
    "interval": (pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()), "P1M2DT0.000000003S"),
    "decimal": (
        pa.array([Decimal("12345678901234567890123.45")] * 2),
        "12345678901234567890123.45",
    ),
    "bytes": (pa.array([b"\xff\0"] * 2), "/wA="),
    "unsigned": (pa.array([2**64 - 1] * 2, pa.uint64()), 2**64 - 1),
    "map": (pa.array([[("a", 1)]] * 2, pa.map_(pa.string(), pa.int64())), [["a", 1]]),
    "nested": (
        pa.array([[{"t": 1}]] * 2, pa.list_(pa.struct([("t", pa.timestamp("ns"))]))),
        [{"t": "1970-01-01T00:00:00.000000001"}],
    ),
    "dictionary": (pa.array(["a", "a"]).dictionary_encode(), "a"),
    "runs": (pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["z"])), "z"),
    "union": (pa.UnionArray.from_sparse(KINDS, [pa.array([5, 5]), pa.array([5, 5])]), 5),
    "uuid": (
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([b"0123456789abcdef"] * 2, pa.binary(16))
        ),
        "30313233-3435-3637-3839-616263646566",
    ),
}
UNKNOWN_TO_PARQUET = ("interval", "union", "runs")


@pytest.fixture
def run(scripts: Path, tmp_path: Path, environment: dict[str, str]) -> Run:
    """Run a command line in a folder of its own; a message is one line, and never a defect."""

    def run(line: str, *, code: int = 0, stdin: bytes = b"") -> subprocess.CompletedProcess:
        name, *arguments = line.split()
        done = subprocess.run(
            [str(scripts / name), *arguments, "-q"],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environment,
            timeout=120,
        )
        said = done.stderr.decode()
        assert done.returncode == code, said
        assert "defect" not in said
        assert len(said.splitlines()) <= 2
        return done

    return run


def stream(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, **options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def written(path: Path, table: pa.Table) -> str:
    """Write a table in the format of the name; return the name."""
    if path.suffix == ".arrow":
        path.write_bytes(stream(table))
    else:
        pq.write_table(table, path)
    return path.name


def batch(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def with_offset(offset: int) -> bytes:
    """Return a stream of two texts, of which the second ends at another place."""
    whole = stream(pa.table({"text": ["hello", "world"]}))
    before, after = struct.pack("<3i", 0, 5, 10), struct.pack("<3i", 0, 5, offset)
    assert before in whole
    return whole.replace(before, after)


@pytest.mark.parametrize("offset", [2_000_000_000, 40, 3, -1])
@pytest.mark.parametrize(
    "line", ["dial-pairs --kind utterance", "dial-augment", "dial-freq", "dial-freq --annotate"]
)
def test_offsets_beyond_their_buffer_are_refused(offset: int, line: str, run: Run, tmp_path: Path):
    (tmp_path / "t.arrow").write_bytes(with_offset(offset))

    assert b"t.arrow: damaged" in run(f"{line} t.arrow", code=1).stderr


@pytest.mark.parametrize(
    "line",
    ["dial-pairs --kind utterance", "dial-freq --no-rank", "dial-freq --annotate --to jsonl"],
)
def test_offsets_may_be_followed_by_part_of_another(line: str, run: Run, tmp_path: Path):
    whole = stream(pa.table({"text": ["hello", "world"]}))
    size, longer = (struct.pack("<2q", n, 16) for n in (12, 14))  # of a buffer, before the next
    assert size in whole
    (tmp_path / "t.arrow").write_bytes(whole.replace(size, longer))
    written(tmp_path / "as-it-was.arrow", pa.table({"text": ["hello", "world"]}))

    damaged, sound = (run(f"{line} {name}").stdout for name in ("t.arrow", "as-it-was.arrow"))
    assert sorted(damaged.splitlines()) == sorted(sound.splitlines())  # unranked is in any order


def test_columns_that_say_what_cannot_be_are_unsound():
    texts = pa.array(["a", "b"])
    i32 = pa.int32()
    bad = {
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 7], i32), texts, safe=False),
        "view": pa.ListViewArray.from_arrays(pa.array([0, 1], i32), pa.array([1, 9], i32), texts),
        "not UTF-8": pa.array([b"\xff", b"a"]).view(pa.string()),
        "a character cut in two": pa.StringArray.from_buffers(
            2, pa.py_buffer(struct.pack("<3i", 0, 1, 2)), pa.py_buffer("é".encode())
        ),
        "falling": pa.ListArray.from_buffers(
            pa.list_(pa.string()),
            2,
            [None, pa.py_buffer(struct.pack("<3i", 0, 2, 1))],
            children=[texts],
        ),
    }

    for column in bad.values():
        with pytest.raises(Unsound, match="damaged"):
            sound(batch(text=column))
    sound(batch(text=pa.array(["é", "", None, "日本"]), empty=pa.array([""] * 4)))


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("dial-pairs --kind dialogue", {"turns": TURNS}),
        ("dial-pairs --kind utterance", {"text": ["a b", "c d"]}),
        ("dial-augment", {"text": ["a b", "c d"]}),
        ("dial-freq --annotate --to jsonl", {"text": ["a b", "c d"]}),
    ],
)
def test_columns_beside_those_in_use_travel_as_text(
    line: str, used: dict[str, Any], suffix: str, run: Run, tmp_path: Path
):
    known = (
        ODD if suffix == "arrow" else {k: v for k, v in ODD.items() if k not in UNKNOWN_TO_PARQUET}
    )
    columns = {name: column for name, (column, _) in known.items()}
    name = written(tmp_path / f"t.{suffix}", pa.table(used | columns))

    row = orjson.loads(run(f"{line} {name}").stdout.splitlines()[0])

    assert {key: row[key] for key in known if key != "late"} == {
        key: text for key, (_, text) in known.items() if key != "late"
    }
    assert row["late"].startswith(ODD["late"][1])  # Parquet counts milliseconds


@pytest.mark.parametrize("line", ["dial-pairs", "dial-freq", "dial-pairs --kind self"])
def test_columns_that_are_not_used_are_in_nobodys_way(line: str, run: Run, tmp_path: Path):
    columns = {name: column for name, (column, _) in ODD.items()}
    name = written(tmp_path / "t.arrow", pa.table({"turns": TURNS} | columns))

    assert run(f"{line} {name}").stdout


def test_an_annotated_table_keeps_its_columns(run: Run, tmp_path: Path):
    columns = {name: column for name, (column, _) in ODD.items()}
    table = pa.table({"text": ["a b", "c d"]} | columns)
    name = written(tmp_path / "t.arrow", table)

    run(f"dial-freq --annotate {name} -o again.arrows")
    run(f"dial-freq --annotate {name} -o again.parquet")

    again = pa.ipc.open_stream(tmp_path.joinpath("again.arrows").read_bytes()).read_all()
    assert again.drop_columns("weight").equals(table)
    parquet = pq.read_table(tmp_path / "again.parquet")
    assert parquet["nanoseconds"].type == pa.timestamp("ns")
    assert parquet["interval"].to_pylist()[0] == ODD["interval"][1]


def test_a_slice_of_any_column_has_the_values_of_its_rows():
    for column, _ in ODD.values():
        assert list(map(str, values(column.slice(1)))) == list(map(str, values(column)))[1:]


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([("text", pa.string()), ("text", pa.string())]),
        pa.schema([("turns", pa.struct([("a", pa.string()), ("a", pa.string())]))]),
    ],
)
def test_a_column_that_is_there_twice_is_named(schema: pa.Schema, run: Run, tmp_path: Path):
    empty = [pa.nulls(1, field.type) for field in schema]
    written(tmp_path / "t.arrow", pa.Table.from_arrays(empty, schema=schema))

    for line in ("dial-pairs", "dial-freq", "dial-augment", "dial-eval space"):
        assert b"is there twice" in run(f"{line} t.arrow", code=1).stderr


def test_a_name_that_is_not_utf8_is_refused(run: Run, tmp_path: Path):
    whole = stream(pa.table({"text": ["a"], "nameofacolumn": ["b"]}))
    (tmp_path / "t.arrow").write_bytes(whole.replace(b"nameofacolumn", b"nameof\xffcolumn"))

    assert b"not UTF-8" in run("dial-freq t.arrow", code=1).stderr


def test_rows_that_nobody_wrote_down_are_refused():
    with pytest.raises(Unsound, match="rows in 0 bytes"):
        sound(pa.RecordBatch.from_arrays([pa.nulls(1 << 24)], ["text"]))


def test_a_long_text_named_by_many_rows_is_cut_into_pieces():
    texts = pa.array(["a" * (1 << 20)])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), texts)
    views = pa.ListViewArray.from_arrays(
        pa.array([0] * 1000, pa.int32()), pa.array([1] * 1000, pa.int32()), texts
    )

    for bomb in (column, views):
        parts = list(pieces(batch(text=bomb)))
        assert sum(len(part) for part in parts) == 1000
        assert max(len(part) for part in parts) <= 64


def test_a_row_that_would_fill_memory_is_refused():
    texts = pa.array(["a" * (1 << 20)])
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int32()), texts)

    with pytest.raises(Unsound, match="a row of"):
        list(
            pieces(batch(turns=pa.ListArray.from_arrays(pa.array([0, 5000], pa.int32()), repeated)))
        )


def test_counts_beyond_63_bits_are_no_counts(run: Run, tmp_path: Path):
    written(
        tmp_path / "t.arrow", pa.table({"text": ["a"], "count": pa.array([2**64 - 1], pa.uint64())})
    )

    assert b't.arrow:1: "count"' in run("dial-freq --merge t.arrow", code=1).stderr


def test_whole_numbers_without_a_sign_fit_a_table(run: Run, tmp_path: Path):
    stdin = orjson.dumps({"text": "a", "n": 2**64 - 1})
    run("dial-augment --to parquet -o t.parquet", stdin=stdin)

    assert pq.read_table(tmp_path / "t.parquet")["n"].to_pylist() == [2**64 - 1]


def test_records_with_a_carriage_return_between_their_tokens_stay_whole(run: Run, tmp_path: Path):
    lines = b'{"text":"a",\r"x":1}\n{"text":"b"}\n'

    first = run("dial-freq --annotate -n 1", stdin=lines).stdout
    assert orjson.loads(first) == {"text": "a", "x": 1, "weight": 1.0}
    run("dial-freq --annotate --to parquet -o t.parquet", stdin=lines)
    assert pq.read_table(tmp_path / "t.parquet")["text"].to_pylist() == ["a", "b"]


def test_a_damaged_file_is_told_as_one(tmp_path: Path):
    path = tmp_path / "t.arrow"
    path.write_bytes(with_offset(-1))
    with pytest.raises(DataError, match="damaged"):
        list(read_chunks([str(path)]))
    path.write_bytes(stream(pa.table({"text": ["a"]}))[:-20])
    with pytest.raises(DataError):
        list(read_records([str(path)], policy=Policy()))

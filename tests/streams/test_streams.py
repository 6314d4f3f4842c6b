"""Streams: laws over all formats, and what rubbish gets to hear."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from dialtools.errors import DataError, OutputError
from dialtools.streams.atomic import atomic_directory, atomic_file
from dialtools.streams.chunks import decode, read_chunks, read_records
from dialtools.streams.making import making
from dialtools.streams.policy import Collecting, Policy, Where
from dialtools.streams.sinks import write_records, writer
from dialtools.streams.tables import _damage
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import Embeddings, embedding_batch

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"text": TEXT, "n": st.integers(-5, 5), "turns": st.lists(TEXT, min_size=1, max_size=3)}
    ),
    min_size=1,
    max_size=20,
)


SUFFIXES = [
    "jsonl",
    "jsonl.gz",
    "jsonl.zst",
    "parquet",
    "parquet.zst",
    "arrow",
    "arrow.gz",
    "arrows",
]


def read(path: Path, **options) -> list[dict]:
    return [record for _, record in read_records([str(path)], policy=Policy(), **options)]


@settings(max_examples=25, deadline=None)
@given(ROWS, st.sampled_from(SUFFIXES))
def test_what_is_written_in_any_format_reads_the_same(rows, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{suffix}"
        write_records(rows, str(path))
        assert read(path) == rows


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        TEXT.map(lambda t: t.replace("\r", "").replace("\n", "").replace("\x85", "")), max_size=30
    ),
    st.integers(8, 64),
)
def test_where_chunks_end_changes_neither_lines_nor_their_numbers(texts, chunk_bytes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        path.write_bytes(b"".join(b'{"n":%d}\n' % i for i in range(len(texts))))
        chunks = list(read_chunks([str(path)], chunk_bytes=chunk_bytes))
        assert b"".join(c.data for c in chunks) == path.read_bytes()
        assert [c.first for c in chunks] == [
            1 + sum(d.data.count(b"\n") for d in chunks[:i]) for i in range(len(chunks))
        ]


def test_lines_of_json_are_no_text_unless_said_so(tmp_path: Path):
    path = tmp_path / "talks.txt"
    path.write_bytes(b'{"turns": ["a", "b"]}\n{"turns": []}\n')
    with pytest.raises(DataError, match=r"talks.txt: lines of JSON, not of text"):
        list(read_chunks([str(path)]))
    assert [chunk.format for chunk in read_chunks([str(path)], format="text")] == ["text"]
    path.write_bytes(b'{"a" is a brace and a quote\n')
    assert [chunk.format for chunk in read_chunks([str(path)])] == ["text"]


def test_odd_but_good_text_is_read(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\r\n\n   \n{"a":2}')
    assert read(path) == [{"a": 1}, {"a": 2}]
    members = tmp_path / "m.jsonl.gz"
    members.write_bytes(gzip.compress(b'{"a":1}\n') + gzip.compress(b'{"a":2}\n'))
    assert read(members) == [{"a": 1}, {"a": 2}]
    frames = tmp_path / "noname"
    frames.write_bytes(zstandard.compress(b'{"a":1}\n') + zstandard.compress(b'{"a":2}\n'))
    assert read(frames) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"a": "\x00"}', "NUL at byte 8"),
        (b'{"a": NaN}', "not JSON"),
    ],
)
def test_a_bad_line_is_named_with_its_number_skipped_or_put_aside(
    tmp_path: Path, line: bytes, says: str
):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a":1}\n' + line + b'\n{"a":3}\n')
    with pytest.raises(DataError, match=rf"x\.jsonl:2: {says}"):
        read(path)
    with Policy(f"quarantine={tmp_path / 'bad.jsonl'}") as policy:
        assert [r["a"] for _, r in read_records([str(path)], policy=policy)] == [1, 3]
        assert policy.skipped == 1
    assert read(tmp_path / "bad.jsonl")[0]["line"] == 2


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("x.jsonl.gz", gzip.compress(b'{"a":1}\n' * 9999, mtime=0)[:-20], "truncated gzip"),
        ("x.jsonl.zst", zstandard.compress(bytes(range(256)) * 99)[:-9], "truncated zstd"),
        ("x.jsonl.gz", gzip.compress(b'{"a":1}\n', mtime=0)[:10] + b"\xff" * 30, "damaged gzip"),
        ("x.jsonl.zst", zstandard.compress(b'{"a":1}\n')[:6] + b"\xff" * 30, "damaged zstd"),
        ("x.parquet", b"PAR1 and then nonsense", "damaged parquet"),
        ("x.arrow", b"ARROW1 nonsense", "damaged arrow"),
    ],
)
def test_a_damaged_file_is_told_as_such(tmp_path: Path, name: str, data: bytes, says: str):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=says):
        read(tmp_path / name)


def test_a_line_of_text_is_decoded_or_rejected():
    policy, at = Collecting(), Where("x", 3)
    lines = (b" a ", b"  ", b"a\0b", b"a\xff")
    assert [decode(line, at, policy) for line in lines] == ["a", "", None, None]
    assert [(bad.where, bad.message) for bad in policy.rejected] == [
        (at, "NUL at byte 2"),
        (at, "invalid UTF-8 at byte 2"),
    ]


def test_a_column_is_checked_row_by_row_and_the_making_of_rubbish_is_nothing():
    def text(value: object, name: str) -> None:
        if not isinstance(value, str):
            raise ValueError(f"{name}: no text")

    found = Embeddings({}, {"label": ["a", "b"], "odd": ["a", 2, 3]}, {}, "x")
    assert found.column("label", text) == ["a", "b"] and found.column("odd") == ["a", 2, 3]
    with pytest.raises(DataError, match="x:2: odd: no text"):
        found.column("odd", text)
    with pytest.raises(DataError, match="no column 'lable'; there are label, odd") as told:
        found.column("lable")
    assert "label" in str(told.value.hint)
    assert making({"dialtools": '{"a":1}'}) == {"a": 1}
    for metadata in ({}, {"dialtools": "["}, {"dialtools": "[]"}, {"other": '{"a":1}'}):
        assert making(metadata) == {}


def test_damage_without_a_word_is_told_by_its_kind():
    with pytest.raises(DataError, match="damaged arrow: OSError"), _damage("arrow", "x"):
        raise OSError
    with pytest.raises(DataError, match="x: no such file"), _damage("arrow", "x"):  # no damage
        raise FileNotFoundError(2, "not there")


def test_nothing_half_written_carries_a_final_name(tmp_path: Path):
    for make in (atomic_file, atomic_directory):
        final = tmp_path / make.__name__
        with pytest.raises(RuntimeError), make(final, overwrite=False) as temporary:
            (temporary / "x" if temporary.is_dir() else temporary).write_text("half")
            raise RuntimeError
        assert list(tmp_path.iterdir()) == []
        with make(final, overwrite=False) as temporary:
            (temporary / "x" if temporary.is_dir() else temporary).write_text("whole")
        with pytest.raises(OutputError, match="exists already"), make(final, overwrite=False):
            pass
        assert [p.name for p in tmp_path.iterdir()] == [final.name]
        (final / "x" if final.is_dir() else final).unlink()
        final.rmdir() if final.is_dir() else None


@pytest.mark.parametrize("float16", [False, True])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_embeddings_come_back_as_they_were(tmp_path: Path, kind: str, float16: bool):
    matrix = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float16).astype(np.float32)
    path = tmp_path / f"e.{kind}"
    with writer(str(path), format=kind, metadata={"dialtools": "{}"}, floats=True) as write:
        for rows in (slice(0, 3), slice(3, 7)):
            write(
                embedding_batch(
                    {"id": list("abcdefg")[rows]}, {"embedding": matrix[rows]}, float16=float16
                )
            )
    back = read_embeddings([str(path)])
    np.testing.assert_array_equal(back.matrix, matrix)
    assert back.columns == {"id": list("abcdefg")}
    assert back.metadata["dialtools"] == "{}"
    assert len(read_embeddings([str(path), str(path)])) == 14

"""A folder of Parquet or Arrow parts, whoever wrote it, reads like one table."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended
from orjson import loads

from dialtools.errors import DataError
from dialtools.streams.parts import unfolded

ROWS = [{"id": f"d{n}", "turns": [f"hello {n}", "hi", f"bye {n}"]} for n in range(30)]


def parquet(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path)


def stream(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


LAYOUTS = {
    "DuckDB, PARTITION_BY": (parquet, ["day=1/data_0.parquet", "day=2/data_0.parquet"], []),
    "Spark": (
        parquet,
        ["part-00000-5f.snappy.parquet", "part-00001-5f.snappy.parquet"],
        ["_SUCCESS", "._SUCCESS.crc"],
    ),
    "datasets' save_to_disk": (
        stream,
        ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"],
        ["dataset_info.json", "state.json"],
    ),
    "datasets on the hub": (
        parquet,
        ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
        ["README.md", ".gitattributes"],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_folder_of_a_tables_parts_is_read_part_after_part(
    scripts: Path, tmp_path: Path, layout: str
):
    write, names, notes = LAYOUTS[layout]
    folder = tmp_path / "table"
    for name, rows in zip(names, (ROWS[:20], ROWS[20:]), strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, pa.Table.from_pylist(rows))
    for note in notes:
        (folder / note).write_text("{}")
    parquet(tmp_path / "whole.parquet", pa.Table.from_pylist(ROWS))

    def out(command: str, path: Path) -> bytes:
        run = ended(scripts / command, "-q", path)
        return run.stdout

    for command in ("dial-pairs", "dial-freq"):
        assert out(command, folder) == out(command, tmp_path / "whole.parquet")


def test_what_the_folders_of_a_partitioned_table_say_is_a_column_of_it(
    scripts: Path, tmp_path: Path
):
    folder = tmp_path / "a=b/table"
    null = "__HIVE_DEFAULT_PARTITION__"
    for row, split, at in (("d1", "test", "S%C3%A3o%2FX"), ("d2", "train", null)):
        part = folder / f"split={split}/at={at}/part-0.parquet"
        part.parent.mkdir(parents=True)
        parquet(part, pa.table({"id": [row], "turns": [["hello", "hi"]]}))
    own = folder / "split=train/at=x/part-1.parquet"
    own.parent.mkdir()
    parquet(own, pa.table({"id": ["d3"], "split": ["dev"], "turns": [["hello", "hi"]]}))

    read = ended(scripts / "dial-pairs", "--kind", "dialogue", folder).stdout.splitlines()
    facts = [(row["id"], row["split"], row.get("at"), "a" in row) for row in map(loads, read)]
    assert facts == [
        ("d1", "test", "São/X", False),
        ("d2", "train", None, False),
        ("d3", "dev", "x", False),
    ]


def test_of_a_folder_of_ones_own_each_file_is_read_by_its_kind(scripts: Path, tmp_path: Path):
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    parquet(folder / "a.parquet", pa.Table.from_pylist(ROWS))
    (folder / "b.csv").write_text("dialogue_id,text\nx,how\nx,so\n")
    cue = "1\n00:00:0{n},000 --> 00:00:0{n},500\n{n}\n\n"
    (folder / "c.srt").write_text("".join(cue.format(n=n) for n in range(3)))
    (folder / "README.md").write_text("# Mine\n")
    (folder / "sub/d.txt").write_text("one\ntwo\n")
    files = [folder / name for name in ("a.parquet", "b.csv", "c.srt", "sub/d.txt")]

    def run(*paths: Path) -> subprocess.CompletedProcess:
        return subprocess.run([scripts / "dial-pairs", "-q", *paths], capture_output=True)

    assert run(folder).stdout == run(*files).stdout != b""
    (folder / "z.docx").touch()
    done = run(folder)
    assert done.returncode == 1
    assert b"mine/z.docx: not a format that is known by its name" in done.stderr


def test_a_folder_is_read_through_links_to_others_and_not_round_in_a_ring(
    scripts: Path, tmp_path: Path
):
    """Spark writes JSON with a note beside; a month may lie on another disk."""
    folder, month = tmp_path / "mine", tmp_path / "elsewhere/feb"
    (folder / "jan").mkdir(parents=True)
    month.mkdir(parents=True)
    for n, place in enumerate((folder / "jan", month)):
        (place / "part-0.json").write_text(f'{{"turns": ["a{n}", "b"]}}\n')
        (place / "_SUCCESS").touch()
    (folder / "feb").symlink_to(month)
    (month / "back").symlink_to(folder)

    def run() -> subprocess.CompletedProcess:
        line = [scripts / "dial-pairs", "-q", folder]
        return subprocess.run(line, capture_output=True, text=True)

    assert [row[:15] for row in run().stdout.splitlines()] == [
        '{"context":["a1',
        '{"context":["a0',
    ]
    (folder / "jan/gone.jsonl").symlink_to("nowhere")
    assert run().stderr == f"dial-pairs: {folder}/jan/gone.jsonl: no such file or directory\n"


def test_of_a_folder_no_pipe_is_read_to_see_what_it_is(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    pipe = os.open(tmp_path / "pipe.jsonl", os.O_RDWR)
    os.write(pipe, b"ours")
    with pytest.raises(DataError, match="is no file"):
        unfolded([str(tmp_path)])
    assert os.read(pipe, 10) == b"ours"
    os.close(pipe)

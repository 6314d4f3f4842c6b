"""What holds for every published corpus: where its files may lie, and what of a bad one."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from at_work import ended
from written import json_value

from dialtools.corpora.catalog import CORPORA
from dialtools.corpora.published import corpus_chunks
from dialtools.errors import DataError
from dialtools.streams.policy import Policy

CASES = Path(__file__).parents[1] / "fuzz/corpora.jsonl"
SMD = json_value("""
    [{"dialogue": [{"turn": "driver",
        "data": {"end_dialogue": false, "utterance": "where is the next gas station"}},
       {"turn": "assistant",
        "data": {"end_dialogue": true, "utterance": "Valero is 4 miles away",
         "requested": {"poi": true}, "slots": {"poi_type": "Gas Station"}}}],
      "scenario": {"task": {"intent": "navigate"}, "uuid": "u-1", "kb": {"items": null}}}]
""")
FILES = {"kvret_dev_public.json": [], "kvret_test_public.json": SMD, "kvret_train_public.json": SMD}


def test_a_folder_a_zip_a_tar_and_a_file_read_alike(read, put, tmp_path: Path):
    folder = put(FILES)
    with (
        zipfile.ZipFile(tmp_path / "c.zip", "w") as packed,
        tarfile.open(tmp_path / "c.tar.gz", "w:gz") as tar,
    ):
        for file in folder.iterdir():
            packed.write(file, f"release/{file.name}")
            tar.add(file, f"release/{file.name}")
    expected = read(folder)
    assert [record["split"] for record in expected] == ["train", "test"], "training files first"
    assert read(tmp_path / "c.zip") == read(tmp_path / "c.tar.gz") == expected
    (tmp_path / "kvret_test_public.json.gz").write_bytes(
        gzip.compress((folder / "kvret_test_public.json").read_bytes())
    )
    assert (
        read(folder / "kvret_test_public.json")
        == read(tmp_path / "kvret_test_public.json.gz", "smd")
        == expected[1:]
    )


def test_a_folder_of_no_known_corpus_is_refused_in_one_line(scripts: Path, put):
    folder = put({"notes.md": "hello", "data/a.bin": b"\0"})
    run = ended(scripts / "dial-pairs", folder, code=1, text=True)
    assert list(json.loads(run.stdout)) == ["dialtools_failed"]  # for whoever reads the pipe
    assert run.stderr.startswith(
        f"dial-pairs: {folder}: the files of no known corpus: data/a.bin, notes.md\n"
    )
    assert "dialtools formats" in run.stderr


@pytest.mark.parametrize("content", ["[\n {}\n]", '{\n "train": []\n}', '[{"a": 1}]'])
def test_a_json_document_that_is_no_stream_of_dialogues_is_told_and_the_hint_says_what_may_read_it(
    scripts: Path, put, content: str
):
    path = put({"data.json": content}) / "data.json"
    run = ended(scripts / "dial-pairs", path, code=1, text=True)
    assert f"{path}:1: " in run.stderr and "`dialtools formats`" in run.stderr


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"scenario": {}}, "expected 'dialogue', found 'scenario'"),
        ({"dialogue": {}, "scenario": {}}, "dialogue: expected a list, found an object"),
        (
            {"dialogue": [{"turn": "captain", "data": {"utterance": "x"}}], "scenario": {}},
            "turn: expected driver or assistant, found 'captain'",
        ),
        (
            {"dialogue": [{"turn": "driver", "data": {"utterance": None}}], "scenario": {}},
            "utterance: expected a string, found null",
        ),
        ([1], "expected an object with 'scenario', found a list"),
    ],
)
def test_a_record_of_another_layout_tells_what_was_expected_and_found(
    scripts: Path, put, broken, told: str
):
    folder = put({"kvret_train_public.json": [SMD[0], broken, SMD[0]]})
    run = subprocess.run([scripts / "dial-pairs", folder], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (
        1,
        f"dial-pairs: {folder}/kvret_train_public.json:2: {told}\n",
    )
    run = ended(scripts / "dial-pairs", "--on-error", "skip", folder, code=3, text=True)
    assert len(run.stdout.splitlines()) == 2


def test_what_is_no_utf8_is_told_by_line_and_byte(read, put):
    folder = put({"kvret_train_public.json": b'[{"a":\r\n "\xe4"}]'})
    with pytest.raises(DataError) as raised:
        read(folder)
    assert str(raised.value).endswith("kvret_train_public.json:2: invalid UTF-8 at byte 3")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"a": 1}', "expected a list of dialogues, found an object"),
        (b"[1, 2", "not JSON"),
        (b"[\0]", "not JSON"),
        (b"", "an empty file"),
    ],
)
def test_a_damaged_file_is_named(read, put, content: bytes, told: str):
    with pytest.raises(DataError, match=f"kvret_train_public.json: {told}"):
        read(put({"kvret_train_public.json": content}))


def test_damaged_archives_are_named(read, tmp_path: Path):
    for name in ("a.zip", "a.tar.gz", "a.tar"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 cut" if name == "a.zip" else b"\x1f\x8b\x08 cut")
        with pytest.raises(DataError, match=rf"{name}: damaged archive"):
            read(tmp_path / name)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_a_flipped_bit_in_a_packed_archive_is_told(read, put, tmp_path: Path, kind: str):
    path = tmp_path / f"c.tar.{kind}"
    with tarfile.open(path, f"w:{kind}") as tar:
        tar.add(put(FILES), "release")
    assert len(read(path)) == 2
    packed = bytearray(path.read_bytes())
    packed[len(packed) // 2] ^= 255
    path.write_bytes(packed)
    with pytest.raises(DataError, match=rf"c.tar.{kind}.*(damaged|truncated|not JSON)"):
        read(path)


def test_paths_in_archives_are_names_only(read, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as packed:
        packed.writestr("../../kvret_train_public.json", json.dumps(SMD))
    assert len(read(tmp_path / "c.zip")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["c.zip"]


def test_every_corpus_can_be_named_and_says_where_it_comes_from(scripts: Path):
    run = ended(scripts / "dialtools", "formats", text=True)
    listed = {row["name"]: row for row in map(json.loads, run.stdout.splitlines())}
    for name, corpus in CORPORA.items():
        reader = corpus.load()
        assert callable(reader.raw) and callable(reader.record) and reader.__doc__
        assert listed[name]["licence"] and listed[name]["source"], name
    assert "jsonl" in listed


TELL_OF_OTHERS = re.compile(
    r"CamRest676.json|data_full.json|domains.json|dstc2_(dev|train).flist|dialog_acts.json"
    r"|(dev|test|train).csv|test_stories.yml"
)
"""Files without which the rest cannot be read as it was meant: splits, domains, acts; the only one.
"""
EVERY = [json.loads(line) for line in CASES.read_text().splitlines()]


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case["corpus"])
def test_any_broken_file_of_a_corpus_is_left_out_or_named(case, put):
    for number, broken in enumerate(case["files"] if len(case["files"]) > 1 else ()):
        folder = put(case["files"] | {broken: b"\x1f\x8bbroken"}, f"corpus{number}")
        told: list[str] = []
        policy = Policy("skip", tell=told.append)
        try:
            for _ in corpus_chunks(str(folder), case["corpus"], policy):
                pass
        except DataError as error:
            assert TELL_OF_OTHERS.fullmatch(Path(broken).name), error
            assert error.where == str(folder / broken) or broken == "test_stories.yml"
        assert all(line.startswith(f"{folder}/{broken}: ") for line in told)

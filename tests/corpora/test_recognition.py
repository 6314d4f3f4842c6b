"""Corpora are told by the names of their files alone, and none is taken for another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from at_work import ended

from dialtools.corpora.catalog import CORPORA
from dialtools.corpora.native import files
from dialtools.corpora.published import corpus_of, lies_in
from dialtools.errors import DataError
from dialtools.streams.policy import Policy

LAYOUTS = {
    "multiwoz": [
        "MultiWOZ_2.1/data.json",
        "MultiWOZ_2.1/valListFile.txt",
        "MultiWOZ_2.1/testListFile.txt",
        "MultiWOZ_2.1/ontology.json",
    ],
    "multiwoz22": [
        "dialog_acts.json",
        "schema.json",
        "train/dialogues_001.json",
        "dev/dialogues_001.json",
    ],
    "multiwoz22-text": ["train_dialogues_001.txt", "dev_dialogues_001.txt", "README.md"],
    "sgd": ["train/schema.json", "train/dialogues_001.json", "README.md"],
    "woz": ["woz_train_en.json", "woz_validate_en.json"],
    "camrest676": ["CamRest676.json", "CamRestDB.json"],
    "dstc2": [
        "scripts/config/dstc2_train.flist",
        "data/Mar13_S0A0/voip-1/log.json",
        "data/Mar13_S0A0/voip-1/label.json",
    ],
    "m2m": ["data/sim-M/train.json", "data/sim-R/train.json"],
    "convlab": ["data/dialogues.json", "data/ontology.json", "data/hotel_db.json"],
    "citod": ["calendar_train.json", "navigate_train.json", "weather_new_train.json"],
    "decode": [
        "decode_v0.1/train.jsonl",
        "decode_v0.1/a2t.jsonl",
        "decode_v0.1/rct.jsonl",
        "decode_v0.1/human-bot.jsonl",
    ],
    "smd": ["kvret_train_public.json"],
    "iob": ["train/seq.in", "train/seq.out", "train/label"],
}


@pytest.mark.parametrize("corpus", LAYOUTS)
def test_a_folder_is_told_as_itself(put, corpus: str):
    assert corpus_of(str(put(dict.fromkeys(LAYOUTS[corpus], ""))), None) == corpus


@pytest.mark.parametrize(
    "names",
    [
        ["train.json", "val.json"],
        ["data.json"],
        ["train/dialogues_001.txt"],
        ["log.json", "label.json"],
        ["train.jsonl"],
        ["data.json", "ontology.json"],
    ],
)
def test_names_that_anything_may_have_tell_nothing(put, names: list[str]):
    with pytest.raises(DataError, match="the files of no known corpus"):
        corpus_of(str(put(dict.fromkeys(names, ""))), None)
    assert corpus_of(names[0], None) is None, "nor does a file alone"


@pytest.mark.parametrize(
    "corpus",
    [
        name for name in LAYOUTS if name not in ("iob", "multiwoz22-text")
    ],  # lines of text may say anything
)
@pytest.mark.parametrize(
    "content",
    [
        '{"a": {"b": 1}}',
        '[{"a": 1}]',
        "[[1], null]",
        '[{"turns": [{"frames": [[]]}], "dialogue": [3], "dial": [""]}]',
    ],
)
def test_the_json_of_another_corpus_is_refused_in_one_line(
    scripts: Path, put, corpus: str, content: str
):
    assert corpus in CORPORA
    path = put(dict.fromkeys(LAYOUTS[corpus], content))
    run = ended(scripts / "dial-freq", "--from", corpus, path, code=1, text=True)
    assert "Traceback" not in run.stderr, run.stderr
    assert run.stderr.startswith(f"dial-freq: {path}/") and run.stderr.count("\n") <= 2, run.stderr


def test_a_file_alone_is_told_by_its_name_also_if_it_is_compressed():
    told = {
        "woz_test_en.json": "woz",
        "dstc2_train_en.json.gz": "dstc2",
        "CamRest676.json.zst": "camrest676",
        "kvret_dev_public.json": "smd",
        "2004-11-15_03.ascii.txt": "ubuntu-irc",
        "_chat.txt": "whatsapp",
    }
    assert {name: corpus_of(f"nowhere/{name}", None) for name in told} == told
    assert {
        corpus_of(name, None)
        for name in ("data.json", "dialogues.json", "train.jsonl", "calendar_dev.json")
    } == {None}


def test_readme_tells_how_many_corpora_there_are():
    readme = Path(__file__).resolve().parents[2] / "README.md"
    numbers = re.findall(r"(\d+) published corpora", readme.read_text())
    assert set(map(int, numbers)) == {len(CORPORA)}


def test_of_many_files_each_is_asked_of_few_patterns(put, monkeypatch: pytest.MonkeyPatch):
    read = files.Files(
        str(put({f"x/2024-01-{day:02}.json": "[]" for day in range(1, 29)})), Policy()
    )
    asked: list[str] = []
    like = files.ends_like
    monkeypatch.setattr(files, "ends_like", lambda name, p: asked.append(name) or like(name, p))
    assert not any(lies_in(read, corpus) for corpus in CORPORA.values())
    assert len(asked) < 28 * 20  # of some 150 patterns

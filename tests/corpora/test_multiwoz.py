"""MultiWOZ in its layouts, M2M and ConvLab's unified format, on tiny files and on the real ones."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from corpora.conftest import counts
from corpora.ready import marked, ready, words
from written import json_value

from dialtools.corpora.dialogues import WITHOUT_TEXT
from dialtools.corpora.published import corpus_chunks
from dialtools.errors import DataError
from dialtools.pairs.job import mine
from dialtools.pairs.options import PairOptions
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

SAID = json_value("""
    [{"text": "One cheap room , it does n't matter where .", "metadata": {},
      "dialog_act": {"Hotel-Inform": [["Price", "cheap"], ["Area", "dontcare"]]},
      "span_info": [["Hotel-Inform", "People", "1", 0, 0],
       ["Hotel-Inform", "Price", "cheap", 1, 1], ["Hotel-Inform", "Area", "dontcare", 5, 6]]},
     {"text": "I've found the Acorn Guest House.", "metadata": {"hotel": {}},
      "dialog_act": {"Hotel-Recommend": [], "general-reqmore": []},
      "span_info": [["Hotel-Recommend", "Name", "acorn guest house", 4, 6],
       ["Booking-Inform", "Name", "acorn guest house", 9, 7],
       ["Hotel-Recommend", "Stars", "4", 1, 1]]},
     {"text": "Thanks"}]
""")


def test_multiwoz_converts_spans_of_words_and_looks_for_values_where_texts_are_not_split(read, put):
    talk = {
        "goal": {"hotel": {"info": {"area": "east"}}, "taxi": {}, "topic": {"taxi": True}},
        "log": SAID,
    }
    lists = {"valListFile.txt": "B.json\n", "testListFile.json": "C.json\n"}
    folder = put({"data.json": dict.fromkeys(("A.json", "B.json", "C.json"), talk), **lists})
    train, val, test = read(folder)
    assert [(d["id"], d["split"]) for d in (train, val, test)] == [
        ("A.json", "train"),
        ("B.json", "val"),
        ("C.json", "test"),
    ]
    assert train["domain"] == "hotel"
    assert [turn["speaker"] for turn in train["turns"]] == ["user", "system", "user"]
    assert [words(turn) for turn in train["turns"]] == [
        ["hotel-people=One", "hotel-price=cheap", "hotel-area=does n't"],
        ["hotel-name=Acorn Guest House", "booking-name=Acorn Guest House"],
        [],
    ]
    assert [turn.get("acts") for turn in train["turns"]] == [
        ["Hotel-Inform"],
        ["Hotel-Recommend", "general-reqmore"],
        None,
    ]
    assert read(folder / "data.json", "multiwoz") == [train, val, test], "the lists lie beside it"


def test_a_part_of_multiwoz_alone_has_its_split_and_a_bad_span_is_told(read, put):
    parts = put({"val.json": {"A": {"log": SAID}}, "test.json": {"A": {"log": SAID}}}, "parts")
    assert [d["split"] for d in read(parts, "multiwoz")] == ["val", "test"]
    bad = {"A": {"log": [{"text": "x", "span_info": [["Hotel"]]}]}}
    told = "expected [act, slot, value, first word, last word], found ['Hotel']"
    with pytest.raises(DataError, match=re.escape(f"data.json:1: span_info: {told}")):
        read(put({"data.json": bad, "valListFile": ""}, "bad"))


TALK22 = json_value("""
    {"dialogue_id": "PMUL1.json", "services": ["hotel", "taxi"],
     "turns": [{"turn_id": "0", "speaker": "USER", "utterance": "near the acorn",
       "frames": [{"service": "hotel", "actions": [],
         "slots": [{"slot": "hotel-name", "start": 9, "exclusive_end": 14, "value": "acorn"},
          {"slot": "hotel-area", "copy_from": "taxi", "value": ["x"]}],
         "state": {}}]},
      {"turn_id": "1", "speaker": "SYSTEM", "utterance": "Booked.", "frames": []}]}
""")


def test_multiwoz22_joins_the_acts_by_name_and_turn(read, put):
    acts = {
        "PMUL1.json": {
            "0": {"dialog_act": {"Hotel-Inform": [["name", "acorn"]]}, "span_info": []},
            "1": {"dialog_act": {}, "span_info": []},
        }
    }
    folder = put(
        {
            "train/dialogues_001.json": [TALK22],
            "dev/dialogues_001.json": [TALK22 | {"dialogue_id": "X"}],
            "dialog_acts.json": acts,
        }
    )
    train, val = read(folder)
    assert train == json_value("""
        {"id": "PMUL1.json", "split": "train", "domain": "hotel taxi",
         "turns": [{"speaker": "user", "text": "near the acorn",
           "slots": [{"start": 9, "end": 14, "label": "hotel-name"}], "acts": ["Hotel-Inform"]},
          {"speaker": "system", "text": "Booked.", "slots": [], "acts": []}]}
    """)
    assert val["split"] == "val" and "acts" not in val["turns"][0], "nobody marked acts"


def test_multiwoz_as_text_takes_the_brackets_off(read, put):
    folder = put(
        {
            "dev_dialogues_001.txt": "A [cheap] room\n[The a[corn] house]\n\n\nhi] [x\nbye\n\n\n",
            "train_dialogues_001.txt": "x\n",
        }
    )
    train, first, second = read(folder)
    assert (train["id"], first["id"], second["id"], second["split"]) == (
        "train-00000",
        "val-00000",
        "val-00001",
        "val",
    )
    assert marked(first) == [
        ("user", "A cheap room", ["value=cheap"]),
        ("system", "The acorn house", ["value=The acorn house"]),
    ]
    assert marked(second) == [("user", "hi x", []), ("system", "bye", [])]


TICKETS = json_value("""
    {"text": "hi , 3 tickets at cinelux  plaza .",
     "tokens": ["hi", ",", "3", "tickets", "at", "cinelux", "plaza", "."],
     "slots": [{"slot": "num_tickets", "start": 2, "exclusive_end": 3},
      {"slot": "theatre_name", "start": 5, "exclusive_end": 7}]}
""")


def test_m2m_converts_spans_of_tokens(read, put):
    asked = {"text": "when ?", "tokens": ["when", "?"], "slots": []}
    turns = [
        {
            "user_acts": [{"type": "GREETING"}, {"type": "INFORM"}, {"type": "INFORM"}],
            "user_utterance": TICKETS,
            "dialogue_state": [],
        },
        {
            "system_acts": [{"type": "REQUEST", "slot": "time"}],
            "system_utterance": asked,
            "user_acts": [],
            "user_utterance": asked,
        },
    ]
    talk = {"dialogue_id": "movies_00000001", "turns": turns}
    (found,) = read(put({"data/sim-M/dev.json": [talk]}))
    assert (found["id"], found["split"], found["domain"]) == ("movies_00000001", "val", "movies")
    assert marked(found) == [
        ("user", TICKETS["text"], ["num_tickets=3", "theatre_name=cinelux  plaza"]),
        ("system", "when ?", []),
        ("user", "when ?", []),
    ]
    assert [turn["acts"] for turn in found["turns"]] == [["GREETING", "INFORM"], ["REQUEST"], []]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tokens": ["hi", "hi"]}, "tokens: 'hi' is not in the text after character 2"),
        (
            {"slots": [{"slot": "x", "start": 7, "exclusive_end": 9}]},
            "slots: expected tokens of 8, found 7 to 9",
        ),
    ],
)
def test_tokens_that_m2m_has_not_are_told(read, put, change: dict, told: str):
    talk = {"dialogue_id": "movies_1", "turns": [{"user_utterance": TICKETS | change}]}
    with pytest.raises(DataError, match=f"dev.json:1: {told}"):
        read(put({"sim-R/dev.json": [talk]}))


ACTS = json_value("""
    {"categorical": [{"intent": "inform", "domain": "hotel", "slot": "price range",
       "value": "cheap"}],
     "non-categorical": [{"intent": "inform", "domain": "hotel", "slot": "type",
       "value": "hotel", "start": 8, "end": 13},
      {"intent": "inform", "domain": "hotel", "slot": "name", "value": "?"}],
     "binary": [{"intent": "bye", "domain": "general", "slot": ""},
      {"intent": "thank", "domain": "", "slot": ""}]}
""")


def test_a_zip_of_convlab_has_offsets_where_the_data_set_has_them(read, put, tmp_path: Path):
    talk = {
        "dataset": "d",
        "data_split": "validation",
        "dialogue_id": "d-validation-0",
        "domains": ["hotel", "general"],
        "goal": {},
        "turns": [
            {
                "speaker": "user",
                "utterance": "a cheap hotel",
                "utt_idx": 0,
                "dialogue_acts": ACTS,
                "state": {},
            },
            {"speaker": "system", "utterance": "none", "utt_idx": 1},
        ],
    }
    folder = put({"data/dialogues.json": [talk], "data/ontology.json": {}})
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as packed:
        for file in folder.rglob("*.json"):
            packed.write(file, file.relative_to(folder))
    assert (
        read(tmp_path / "data.zip")
        == read(folder)
        == json_value("""
            [{"id": "d-validation-0", "split": "val", "domain": "hotel general",
              "turns": [{"speaker": "user", "text": "a cheap hotel",
                "slots": [{"start": 8, "end": 13, "label": "hotel-type"}],
                "acts": ["hotel-inform", "general-bye", "thank"]},
               {"speaker": "system", "text": "none"}]}]
        """)
    )
    talk["turns"][0]["dialogue_act"] = talk["turns"][0].pop("dialogue_acts")
    older = put({"data/dialogues.json": [talk], "data/ontology.json": {}}, "convlab-2")
    assert read(older) == read(folder)


@pytest.mark.shared
def test_real_multiwoz_validation_has_its_spans(read, shared: Path):
    found = read(shared / "data/raw/multiwoz21.tar.gz", "multiwoz")
    assert counts(found) == (999, 14730), "1,000 but for one"
    assert {record["split"] for record in found} == {"val"}
    slots = [slot for record in found for turn in record["turns"] for slot in words(turn)]
    assert len(slots) == 18888 and all(slot.partition("=")[2].strip() for slot in slots)
    expected = {
        record["turns"][0]["text"]
        for record in ready(shared / "data/corpus/multiwoz.jsonl.gz", "dev")
    }
    said = {"".join(text.split()).lower() for text in expected}
    same = sum("".join(record["turns"][0]["text"].split()).lower() in said for record in found)
    assert same >= 900, (
        "the same dialogues as those of 2.2 but for words that were split and corrected"
    )


@pytest.mark.shared
def test_real_multiwoz22_text_gives_the_published_counts_and_what_is_ready_made(read, shared: Path):
    found = read(shared / "data/raw/multiwoz22_text.tar.gz")
    assert counts(found) == (10437, 143044)
    by_id = {record["id"]: record for record in ready(shared / "data/corpus/multiwoz.jsonl.gz")}
    pairs = [
        (marked(one), marked(by_id["mwoz22-" + one["id"].replace("val", "dev")])) for one in found
    ]
    assert [[turn[:2] for turn in mine] for mine, _ in pairs] == [
        [turn[:2] for turn in theirs] for _, theirs in pairs
    ]
    other = [
        (turn, there)
        for mine, theirs in pairs
        for turn, there in zip(mine, theirs, strict=True)
        if turn != there
    ]
    assert len(other) == 12 and all(len(turn[2]) == 1 and not there[2] for turn, there in other), (
        "nested brackets"
    )


@pytest.mark.shared
def test_the_pairs_of_multiwoz22_text_are_those_of_the_table(shared: Path):
    chunks = list(
        corpus_chunks(str(shared / "data/raw/multiwoz22_text.tar.gz"), "multiwoz22-text", Policy())
    )
    found = []
    for reader, least in (("plain", 0), ("plain", 4), ("tod-bert", 0), ("tod-bert", 4)):
        tally = Tally()
        for _ in mine(
            chunks,
            PairOptions(reader=reader, min_words=least),
            lines=False,
            policy=Policy(),
            tally=tally,
        ):
            pass
        found.append(
            tally.kept
            + tally.dropped["repeated"]
            + (0 if least else tally.dropped["empty"] + tally.dropped[WITHOUT_TEXT])
        )
    assert found == [132607, 128184, 122172, 119061]

"""WOZ 2.0, CamRest676 and DSTC2: dialogues about restaurants, in tiny files and real ones."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import pytest
from at_work import ended
from corpora.conftest import counts
from corpora.ready import marked, ready
from written import json_value

from dialtools.errors import DataError

WOZ = json_value("""
    [{"dialogue_idx": 600,
      "dialogue": [{"turn_idx": 0, "system_transcript": "",
        "transcript": "Cheap Thai, by the  THAI embassy", "asr": [["x", 1.0]],
        "system_acts": [], "belief_state": [],
        "turn_label": [["food", "thai"], ["food", "embassy"], ["price range", "cheap"],
         ["request", "by"]]},
       {"turn_idx": 1, "system_transcript": "Sala Thong serves Thai. ", "transcript": "bye",
        "turn_label": [], "system_acts": ["food"]}]}]
""")


def test_woz_leaves_out_the_first_system_utterance_and_marks_the_values_that_are_said(read, put):
    folder = put({"woz_validate_en.json": WOZ, "woz_train_de.json": WOZ})
    assert read(folder) == json_value("""
        [{"id": "val-600", "split": "val", "domain": "restaurant",
          "turns": [{"speaker": "user", "text": "Cheap Thai, by the  THAI embassy",
            "slots": [{"start": 0, "end": 5, "label": "price range"},
             {"start": 6, "end": 10, "label": "food"}, {"start": 25, "end": 32, "label": "food"}]},
           {"speaker": "system", "text": "Sala Thong serves Thai. "},
           {"speaker": "user", "text": "bye", "slots": []}]}]
    """), "English alone"
    assert read(folder / "woz_train_de.json")[0]["id"] == "train-600", "other languages if named"


def test_camrest_is_read_once_with_or_without_the_comment_before_it(read, put):
    talk = json_value("""
        [{"dialogue_id": 7, "finished": true, "goal": {},
          "dial": [{"turn": 0,
            "usr": {"transcript": "a cheap place",
             "slu": [{"act": "inform", "slots": [["pricerange", "cheap"]]},
              {"act": "request", "slots": [["slot", "place"]]}]},
            "sys": {"sent": "Where?", "DA": ["area"]}}]}]
    """)
    marked = "#####\n#  Copyright #\n#####\n" + json.dumps(talk)
    both = put({"CamRest676.json": talk, "nndial_CamRest676.json": marked})
    assert read(both) == read(both / "CamRest676.json") == read(both / "nndial_CamRest676.json")
    assert read(both) == json_value("""
        [{"id": "7", "domain": "restaurant",
          "turns": [{"speaker": "user", "text": "a cheap place",
            "slots": [{"start": 2, "end": 7, "label": "pricerange"}]},
           {"speaker": "system", "text": "Where?"}]}]
    """)
    for content, told in (
        ("# only\n", "not JSON"),
        ("# x\n{}", "expected a list of dialogues, found an object"),
    ):
        with pytest.raises(DataError, match=rf"CamRest676.json: {told}"):
            read(put({"CamRest676.json": content}, "broken"))


LOG = json_value("""
    {"session-id": "voip-1",
     "turns": [{"turn-index": 0,
       "output": {"transcript": "Hello , how may I help you?",
        "dialog-acts": [{"act": "welcomemsg", "slots": []}]},
       "input": {}},
      {"turn-index": 1,
       "output": {"transcript": "What area?",
        "dialog-acts": [{"act": "request", "slots": [["slot", "area"]]}]},
       "input": {}}]}
""")
LABEL = json_value("""
    {"session-id": "voip-1",
     "turns": [{"turn-index": 0, "transcription": "cheap food, what area",
       "semantics": {"cued": "",
        "json": [{"act": "inform", "slots": [["pricerange", "cheap"], ["pricerange", "what"]]},
         {"act": "request", "slots": [["slot", "area"]]}]},
       "goal-labels": {}},
      {"turn-index": 1, "transcription": "", "semantics": {"cued": "", "json": []}}]}
""")
CALLS = {
    "data/Mar13_S0A1/voip-1/log.json": LOG,
    "data/Mar13_S0A1/voip-1/label.json": LABEL,
    "data/Mar13_S0A0/voip-1/log.json": LOG,
    "data/Mar13_S0A0/voip-1/label.json": LABEL,
    "scripts/config/dstc2_train.flist": "Mar13_S0A1/voip-1\n",
    "scripts/config/dstc2_dev.flist": "Mar13_S0A0/voip-1\n",
}


def test_dstc2_as_published_joins_the_log_with_the_labels(read, put, tmp_path: Path):
    folder = put(CALLS)
    train, val = read(folder)
    assert (val["id"], val["split"], train["id"], train["split"]) == (
        "Mar13_S0A0/voip-1",
        "val",
        "Mar13_S0A1/voip-1",
        "train",
    )
    assert (
        train["turns"]
        == val["turns"]
        == json_value("""
            [{"speaker": "system", "text": "Hello , how may I help you?",
              "acts": ["welcomemsg"]},
             {"speaker": "user", "text": "cheap food, what area",
              "slots": [{"start": 0, "end": 5, "label": "pricerange"},
               {"start": 12, "end": 16, "label": "pricerange"}],
              "acts": ["inform", "request"]},
             {"speaker": "system", "text": "What area?", "acts": ["request"]}]
        """)
    ), "a silent user has no turn"
    with tarfile.open(tmp_path / "dstc2.tar.gz", "w:gz") as tar:
        tar.add(folder, ".")
        tar.addfile(tarfile.TarInfo("data/Mar13_S0A0/voip-1/._log.json"))  # as macOS leaves it
    assert read(tmp_path / "dstc2.tar.gz") == [train, val]
    alone = read(folder / "data/Mar13_S0A1/voip-1/log.json", "dstc2")
    assert [record["turns"] for record in alone] == [train["turns"]], "a call alone"
    with pytest.raises(DataError, match=r"S0A0/voip-1/log.json:1: no label.json beside log.json"):
        read(put({name: CALLS[name] for name in CALLS if "A0/voip-1/label" not in name}, "part"))


def test_dstc2_in_the_layout_of_woz_has_the_acts_of_the_file_beside_it(read, put):
    acts = """welcomemsg()
welcomemsg()
Hello !

offer(name=a b;) inform(food=x;) inform(area=y;)
inform(area) inform(food) offer(name)
a b is nice

canthear()
canthear()
I can't hear you

repeat()
repeat()
I can't hear you
""".replace(")\n", ") \n")  # lines of acts end in a blank
    talk = json_value("""
        [{"dialogue_idx": 3,
          "dialogue": [{"system_transcript": "Hello !", "transcript": "thai",
            "turn_label": [["food", "thai"]]},
           {"system_transcript": " a b is nice ", "transcript": "ok"},
           {"system_transcript": "New?", "transcript": "bye"},
           {"system_transcript": "I can't hear you", "transcript": "bye"}]}]
    """)
    folder = put({"dstc2_train_en.json": talk, "acts_train_data": acts})
    (found,) = read(folder)
    assert [turn.get("acts") for turn in found["turns"] if turn["speaker"] == "system"] == [
        ["welcomemsg"],
        ["inform", "offer"],
        None,
        None,
    ], "a text that is said with several acts does not tell which"
    assert found["turns"][1]["slots"] == [{"start": 0, "end": 4, "label": "food"}]
    assert read(folder / "dstc2_train_en.json") == [found], "also beside a file that was named"


@pytest.mark.shared
@pytest.mark.parametrize(("corpus", "size"), [("woz", (1200, 8824)), ("camrest676", (676, 5488))])
def test_the_real_files_give_the_published_counts_and_what_is_ready_made(
    read, shared: Path, corpus: str, size: tuple[int, int]
):
    found, expected = (
        read(shared / "data/raw" / corpus),
        ready(shared / f"data/corpus/{corpus}.jsonl.gz"),
    )
    assert counts(found) == size
    by_id = {record["id"].replace("validate", "val"): marked(record) for record in expected}
    assert {record["id"]: marked(record) for record in found} == by_id


@pytest.mark.shared
@pytest.mark.parametrize(
    ("corpus", "reader", "plain", "published"),
    [
        ("woz", "tod-bert", (7624, 5949), (7616, 5947)),
        ("camrest676", "tod-bert-camrest", (4812, 3452), (4812, 3528)),
    ],
)
def test_the_pairs_of_the_native_files_are_those_of_the_table(
    scripts: Path, shared: Path, corpus: str, reader: str, plain, published
):
    for extra, (pairs, kept) in (((), plain), (("--reader", reader), published)):
        for words, expected in ((), pairs), (("--min-words", "4"), kept):
            done = ended(
                scripts / "dial-pairs", *extra, *words, shared / "data/raw" / corpus, text=True
            )
            assert (
                done.stdout.count("\n")
                + dropped(done.stderr, "repeated", *(() if words else ("empty", "turn", "turns")))
                == expected
            )


def dropped(summary: str, *reasons: str) -> int:
    """Return how many pairs the closing line says were dropped for some reasons.

    The published table counts them.
    """
    said = re.findall(r"(\d[\d,]*) (\w+)", summary.partition("dropped")[2])
    return sum(int(number.replace(",", "")) for number, reason in said if reason in reasons)


@pytest.mark.shared
def test_real_dstc2_agrees_with_the_ready_made_dialogues_and_their_acts(read, shared: Path):
    found = read(shared / "data/raw/dstc2.tar.gz")
    assert counts(found) == (506, 7868)
    expected = ready(shared / "data/corpus/dstc2.jsonl.gz", "validate")
    assert [marked(record) for record in found] == [marked(record) for record in expected]
    assert [record["id"] for record in found] == [
        record["id"].replace("validate", "val") for record in expected
    ]
    acts = {
        turn["text"].strip(): turn["acts"]
        for record in found
        for turn in record["turns"]
        if "acts" in turn
    }
    rows = ready(shared / "data/eval/dstc2_acts.jsonl.gz", "validate")
    known = [row for row in rows if row["response"] in acts]
    assert len(rows) == 3424 and len(known) == 2690, (
        "the others stand in the acts files of the other splits"
    )
    assert all(acts[row["response"]] == row["labels"] for row in known)

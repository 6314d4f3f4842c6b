"""CI-ToD and DECODE: responses that may contradict their history; tiny files and real ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpora.ready import ready
from written import json_value

from dialtools.errors import DataError

SAID = [
    {"turn": "driver", "utterance": "when is tennis"},
    {"turn": "assistant", "utterance": "at 7pm"},
]


def test_citod_gives_the_last_turn_as_the_response_and_names_what_is_inconsistent(read, put):
    item = {
        "id": 7,
        "dialogue": SAID,
        "scenario": {"kb": {"items": [{"time": "6pm"}]}, "qi": "0", "hi": "0", "kbi": "1"},
        "HIPosition": [],
    }
    folder = put(
        {"calendar_dev.json": [item], "navigate_train.json": [item], "weather_new_dev.json": [item]}
    )
    navigate, calendar, weather = read(folder)
    assert (weather["id"], weather["domain"]) == ("weather_new-dev-7", "weather")
    assert navigate["id"] == "navigate-train-7"
    assert (navigate["split"], navigate["domain"]) == ("train", "navigate")
    assert calendar == json_value("""
        {"id": "calendar-dev-7", "domain": "calendar", "split": "val",
         "history": [{"speaker": "user", "text": "when is tennis"}], "response": "at 7pm",
         "kb": [{"time": "6pm"}], "qi": 0, "hi": 0, "kbi": 1, "labels": ["kbi"]}
    """)
    (alone,) = read(put({"weather_new_test.json": [item | {"dialogue": SAID[:1]}]}, "one"), "citod")
    assert (alone["history"], alone["response"]) == ([], "when is tennis"), "as row 105 there"
    for change, told in (
        ({"dialogue": []}, "dialogue: expected a response, found no turn"),
        ({"scenario": {"qi": "2"}}, "qi: expected 0 or 1, found '2'"),
    ):
        with pytest.raises(DataError, match=f"calendar_dev.json:1: {told}"):
            read(put({"calendar_dev.json": [item | change]}, "broken"), "citod")


def test_decode_tells_contradictions_and_the_turns_that_are_contradicted(read, put):
    turns = [
        {"turn_id": i, "agent_id": i % 2, "text": text}
        for i, text in enumerate(["hi", "I cook", "oh", "I never cook"])
    ]
    evidence = "aggregated_contradiction_indices"
    item = {"record_id": "r1", "turns": turns, "is_contradiction": True, evidence: [1, 3]}
    calm = item | {"record_id": "r2", "is_contradiction": False, evidence: []}
    lines = "".join(f"{line}\n" for line in map(json.dumps, (item, calm)))
    folder = put({f"decode_v0.1/{group}.jsonl": lines for group in ("human-bot", "train", "rct")})
    found = read(folder)
    assert found[0] == json_value("""
        {"id": "r1",
         "history": [{"speaker": "0", "text": "hi"}, {"speaker": "1", "text": "I cook"},
          {"speaker": "0", "text": "oh"}],
         "response": "I never cook", "speaker": "1", "label": "contradiction", "evidence": [1],
         "group": "train", "split": "train"}
    """)
    assert (found[1]["label"], found[1]["evidence"]) == ("non_contradiction", [])
    assert [r["group"] for r in found[2:]] == ["human-bot"] * 2 + ["rct"] * 2
    assert not any("split" in r for r in found[2:])


@pytest.mark.shared
def test_the_real_files_of_citod_agree_with_the_ready_made_rows(read, shared: Path):
    parts = ("calendar-train", "calendar-dev", "navigate-dev")
    found = read(shared / "data/raw/citod")
    known = ready(shared / "data/eval/citod.jsonl.gz")
    expected = [row for part in parts for row in known if row["id"].startswith(part)]
    published = [595, 74, 139]
    assert [sum(r["id"].startswith(part) for r in found) for part in parts] == published
    assert found == [row | {"split": row["split"].replace("dev", "val")} for row in expected]
    train = [record for record in found if record["split"] == "train"]
    published = [174, 56, 177]
    assert [sum(record[name] for record in train) for name in ("qi", "hi", "kbi")] == published

"""MetaLWOZ, Taskmaster, MSR-E2E, Frames and ABCD in tiny files of their published shape."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from corpora.broken import broken_files
from written import json_value

from dialtools.errors import DataError

ALARM = {
    "id": "d1",
    "user_id": "u",
    "bot_id": "b",
    "domain": "ALARM_SET",
    "task_id": "t9",
    "turns": ["Hello how may I help you?", "wake me at six", "Done.", ""],
}
METALWOZ = {
    "dialogues/ALARM_SET.txt": json.dumps(ALARM) + "\n",
    "dialogues/BANK_BOT.txt": json.dumps(ALARM | {"id": "d2", "domain": "BANK_BOT"}),
    "tasks.txt": '{"task_id": "t9"}\n',
}


def segment(text: str, start: Any, *labels: str) -> dict[str, Any]:
    return {
        "start_index": start,
        "end_index": type(start)(int(start) + len(text)),
        "text": text,
        "annotations": [{"name": label} for label in labels],
    }


def conversation(
    name: str, speakers: tuple[str, str] = ("USER", "ASSISTANT"), **more: Any
) -> dict[str, Any]:
    at = str(13) if speakers[0].islower() else 13
    segments = [
        segment("two tickets", at, "num.tickets", "num.tickets"),
        segment("cinema", 0, "name.theater"),
    ]
    said = [
        {
            "index": 0,
            "speaker": speakers[0],
            "text": "I would like two tickets",
            "segments": segments,
        },
        {"index": 1, "speaker": speakers[1], "text": "Which movie?"},
    ]
    return {"conversation_id": name, "utterances": said} | more


TASKMASTER = {
    "TM-1-2019/self-dialogs.json": [
        conversation("dlg-1", instruction_id="movie-tickets-1"),
        conversation("dlg-2", instruction_id="movie-finder"),
    ],
    "TM-1-2019/woz-dialogs.json": [conversation("dlg-3", instruction_id="pizza-ordering-2")],
    "TM-1-2019/sample.json": {},
    "TM-1-2019/ontology.json": {},
    "TM-1-2019/train-dev-test/train.csv": "dlg-1,\n",
    "TM-1-2019/train-dev-test/dev.csv": "dlg-2,\n",
    "TM-1-2019/train-dev-test/test.csv": "",
    "TM-2-2020/data/sports.json": [conversation("dlg-4", instruction_id="nba-3")],
    "TM-2-2020/ontology/sports.json": {},
    "TM-3-2020/data/data_00.json": [conversation("dlg-5", vertical="Movie Tickets")],
    "TM-4-2024/data/data_00.json": [
        conversation("dlg-6", ("user", "assistant"), vertical="Coffee")
    ],
    "TM-4-2024/data/data_01.json": [],
    "TM-4-2024/reward/reward_00.json": {},
}

# a byte order mark, empty fields at the end, a line that ends as on Windows: as published
TAXI = """\
\ufeffsession.ID\tMessage.ID\tMessage.Timestamp\tMessage.From\tMessage.Text\tDialog-Acts\t\t
1\t1\t2016\tuser\t"Hi, a cab at 6 or 7, for ""two""\"\tgreeting(greeting=Hi)\t\
request(taxi;pickup_time={6#7};number=two)\t
1\t2\t2016\tagent\tWhich city?\trequest(city)\t\t\r
2\t1\t2016\tuser\tSeattle, WA\tInform(city=seattle;state=WA )\t\t
2\t2\t2016\tagent\tUberX is $2\tinform(mc_list={car=uberX||cost=$2})\tmultiple_choice(mc_list)\t
"""
MSR = {f"data/{domain}_all.tsv": TAXI for domain in ("movie", "restaurant", "taxi")}

FRAMES = json_value("""
    {"Frames-dataset/frames.json": [{"user_id": "U", "wizard_id": "W", "id": "f1",
       "labels": {"userSurveyRating": 4.0, "wizardSurveyTaskSuccessful": true},
       "turns": [{"text": "from Caprica or Atlantis on August 13", "author": "user",
         "timestamp": 1.0,
         "labels": {"active_frame": 1, "frames": [],
          "acts": [{"name": "inform",
            "args": [{"key": "or_city", "val": "Caprica"},
             {"key": "or_city", "val": "Atlantis"}, {"key": "ref", "val": [{"frame": 1}]}]},
           {"name": "inform",
            "args": [{"key": "str_date", "val": "august 13"}, {"key": "intent", "val": "book"}]}]}},
        {"text": "Nothing found", "author": "wizard", "timestamp": 2.0,
         "labels": {"acts": [{"name": "sorry", "args": []}]}}]}]}
""")

TOLD = [
    ["agent", "Hi!"],
    ["customer", "Crystal Minh"],
    ["action", "Account has been pulled up."],
    ["agent", "Thanks"],
]
CHAT = {
    "convo_id": 3592,
    "scenario": {"flow": "product_defect", "subflow": "return_size"},
    "original": TOLD,
    "delexed": [
        {
            "speaker": who,
            "text": text.lower(),
            "turn_count": n,
            "candidates": [],
            "targets": [
                "return_size",
                None,
                "pull-up-account" if who == "action" else None,
                ["crystal minh"] if who == "action" else [],
                -1,
            ],
        }
        for n, (who, text) in enumerate(TOLD, 1)
    ],
}
ABCD = {"data/abcd_v1.1.json": {"train": [CHAT], "dev": [], "test": [CHAT | {"convo_id": 7}]}}

CORPORA = {"metalwoz": METALWOZ, "taskmaster": TASKMASTER, "msr-e2e": MSR}
CORPORA |= {"frames": FRAMES, "abcd": ABCD}


def test_the_bot_of_metalwoz_speaks_first(read, put):
    records = read(put(METALWOZ))
    assert [(r["id"], r["domain"], r["task"]) for r in records] == [
        ("d1", "ALARM_SET", "t9"),
        ("d2", "BANK_BOT", "t9"),
    ]
    assert [(t["speaker"], t["text"]) for t in records[0]["turns"]] == [
        ("system", ALARM["turns"][0]),
        ("user", "wake me at six"),
        ("system", "Done."),
        ("user", ""),
    ]
    assert len(records) == 2
    assert read(put(METALWOZ) / "dialogues/BANK_BOT.txt") == records[1:], "told by how it begins"
    railways = {f"metal/{name.replace('BANK_BOT', 'train')}": METALWOZ[name] for name in METALWOZ}
    assert not any("split" in record for record in read(put(railways, "railways")))


def test_the_four_taskmasters_read_alike_each_with_its_own_domain_and_the_first_with_its_splits(
    read, put
):
    records = read(put(TASKMASTER))
    about = [(r["id"], r.get("split"), r["domain"]) for r in records]
    assert about == [
        ("dlg-1", "train", "movie-tickets"),
        ("dlg-2", "val", "movie-finder"),
        ("dlg-3", None, "pizza-ordering"),
        ("dlg-4", None, "sports"),
        ("dlg-5", None, "Movie Tickets"),
        ("dlg-6", None, "Coffee"),
    ]
    for record in records:
        assert [t["speaker"] for t in record["turns"]] == ["user", "system"]
        assert [t["slots"] for t in record["turns"]] == [
            [{"start": 13, "end": 24, "label": "num.tickets"}],
            [],
        ], "once, and none that gives another text"


def test_a_single_file_of_taskmaster_is_read_by_name(read, put):
    folder = put(TASKMASTER)
    assert [r["id"] for r in read(folder / "TM-1-2019/self-dialogs.json")] == ["dlg-1", "dlg-2"]
    assert [r["domain"] for r in read(folder / "TM-2-2020/data/sports.json", "taskmaster")] == [
        "sports"
    ]
    assert [r["id"] for r in read(folder / "TM-4-2024")] == ["dlg-6"]


def test_a_file_of_taskmaster_that_is_there_in_two_folders_is_not_read_thrice(read, put):
    talks = TASKMASTER["TM-2-2020/data/sports.json"]
    folder = put({"sports.json": talks, "old/sports.json": talks, "o[l]d/sports.json": talks})
    assert [r["id"] for r in read(folder, "taskmaster")] == 3 * ["dlg-4"]


def test_msr_e2e_has_its_quotes_undone_and_its_values_marked(read, put):
    records = read(put(MSR))
    assert [r["id"] for r in records] == [
        f"{d}/{n}" for d in ("movie", "restaurant", "taxi") for n in (1, 2)
    ]
    first, second = records[4]["turns"], records[5]["turns"]
    assert records[4]["domain"] == "taxi" and len(records[4]["turns"]) == 2
    assert first[0]["text"] == 'Hi, a cab at 6 or 7, for "two"' and first[0]["acts"] == [
        "greeting",
        "request",
    ]
    assert [(first[0]["text"][s["start"] : s["end"]], s["label"]) for s in first[0]["slots"]] == [
        ("6", "pickup_time"),
        ("7", "pickup_time"),
        ("two", "number"),
    ]
    assert first[1] == {
        "speaker": "system",
        "text": "Which city?",
        "slots": [],
        "acts": ["request"],
    }
    assert [(s["start"], s["label"]) for s in second[0]["slots"]] == [(0, "city"), (9, "state")]
    assert [s["label"] for s in second[1]["slots"]] == ["car", "cost"]
    assert read(put(MSR) / "data/taxi_all.tsv") == records[4:], "told by its name"


def test_values_of_msr_e2e_may_have_blanks_before_them_and_no_braces_around_several(read, put):
    said = "Sparta at 7 in 3D or 2D"
    acts = "inform(city =Sparta;starttime= {7};video_format=3D#2D;greeting=at)"
    table = f"session.ID\tb\tc\td\te\tf\n1\t1\t2016\tuser\t{said}\t{acts}\n"
    ((turn,),) = (record["turns"] for record in read(put({"movie_all.tsv": table})))
    assert {said[s["start"] : s["end"]]: s["label"] for s in turn["slots"]} == {
        "Sparta": "city",
        "7": "starttime",
        "3D": "video_format",
        "2D": "video_format",
    }


def test_frames_has_acts_and_the_values_of_acts(read, put):
    (record,) = read(put(FRAMES))
    assert read(put(FRAMES) / "Frames-dataset/frames.json") == [record], "told by its name"
    user, wizard = record["turns"]
    assert (record["id"], user["acts"], wizard["acts"], wizard["speaker"]) == (
        "f1",
        ["inform"],
        ["sorry"],
        "system",
    )
    assert [(user["text"][s["start"] : s["end"]], s["label"]) for s in user["slots"]] == [
        ("Caprica", "or_city"),
        ("Atlantis", "or_city"),
        ("August 13", "str_date"),
    ]


def test_an_action_of_abcd_is_no_utterance(read, put, tmp_path: Path):
    folder = put(ABCD)
    records = read(folder)
    assert [(r["id"], r["split"], r["domain"], r["subflow"]) for r in records] == [
        ("3592", "train", "product_defect", "return_size"),
        ("7", "test", "product_defect", "return_size"),
    ]
    assert [(t["speaker"], t["text"]) for t in records[0]["turns"]] == [
        ("system", "Hi!"),
        ("user", "Crystal Minh"),
        ("system", "Thanks"),
    ]
    assert records[0]["actions"] == [
        {
            "turn": 2,
            "text": "Account has been pulled up.",
            "name": "pull-up-account",
            "values": ["crystal minh"],
        }
    ]
    (tmp_path / "abcd_v1.1.json.gz").write_bytes(
        gzip.compress((folder / "data/abcd_v1.1.json").read_bytes())
    )
    assert read(tmp_path / "abcd_v1.1.json.gz") == records


BROKEN = broken_files(
    r"""
metalwoz dialogues/A.txt
{"turns": ["hi"]}
{"turns": ["hi", 3]}
-> dialogues/A.txt:2: turns: expected strings, found a number

metalwoz dialogues/A.txt
hello
-> dialogues/A.txt:1: not JSON

metalwoz notes.txt
hello
-> expected dialogues/*.txt, found notes.txt

taskmaster woz-dialogs.json
[{"conversation_id": "x", "utterances": [{"speaker": "SYSTEM", "text": "hi"}]}]
-> woz-dialogs.json:1: speaker: expected user or assistant, found 'system'

taskmaster woz-dialogs.json
[{"conversation_id": ["x"], "utterances": []}]
-> woz-dialogs.json:1: conversation_id: expected a string, found a list

taskmaster woz-dialogs.json
[1]
-> woz-dialogs.json:1: expected an object with 'utterances', found a number

taskmaster self-dialogs.json
[{"conversation_id": "x",
  "utterances": [{"speaker": "USER", "text": "hi", "segments": [{"end_index": 3}]}]}]
-> start_index: expected a number, found None

msr-e2e taxi_all.tsv
a\tb
-> expected a header that begins with session.ID, found 'a'

msr-e2e taxi_all.tsv
session.ID
1\t1\tx\tuser
-> taxi_all.tsv:2: line 2: expected session, message, time, speaker, text and acts,
-> found 4 fields

msr-e2e taxi_all.tsv
session.ID
1\t1\tx\tuser\thi
1\t2\tx\tdriver\tho
-> taxi_all.tsv:2: line 3: Message.From: expected user or agent, found 'driver'

frames frames.json
{"a": 1}
-> frames.json: expected a list of dialogues, found an object

frames frames.json
[{"turns": [{"text": "x", "author": "bot"}]}]
-> author: expected user or wizard, found 'bot'

abcd abcd_v1.1.json
[CHAT]
-> expected an object with train, dev and test, found a list

abcd abcd_v1.1.json
{"train": [CHAT, {"convo_id": 1}]}
-> abcd_v1.1.json:train:2: expected 'original', found 'convo_id'

abcd abcd_v1.1.json
{"train": [{"convo_id": 1, "original": [["bot", "x"]]}]}
-> original: speaker: expected customer or agent or action, found 'bot'

abcd abcd_v1.1.json
{"train": [{"convo_id": 1, "original": [["agent"]]}]}
-> original: expected pairs of speaker and text
""",
    {"CHAT": json.dumps(CHAT)},
)


@pytest.mark.parametrize(("name", "files", "told"), BROKEN)
def test_another_layout_tells_what_was_expected_and_found(
    read, put, name: str, files: dict[str, str], told: str
):
    with pytest.raises(DataError, match=re.escape(told)):
        read(put(files), name)


@pytest.mark.shared
def test_taskmaster_4_as_published_is_the_corpus_at_hand(read, shared: Path):
    records = read(shared / "data/raw/taskmaster4.tar.gz")
    with gzip.open(shared / "data/corpus/taskmaster4.jsonl.gz") as lines:
        expected = [json.loads(line) for line in lines]
    assert (len(records), sum(len(record["turns"]) for record in records)) == (3710, 13915)
    for record in records:
        record["turns"] = [
            {name: value for name, value in turn.items() if value != []} for turn in record["turns"]
        ]
    assert records == expected, (
        "ids, domains, texts and its 82 slots; that one leaves empty lists of slots out"
    )

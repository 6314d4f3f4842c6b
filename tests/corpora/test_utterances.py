"""Labelled utterances as published: CLINC150, BANK77, SNIPS, ATIS, HWU64, MASSIVE."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from at_work import ended
from corpora.broken import broken_files
from written import json_value

from dialtools.corpora.published import corpus_of
from dialtools.errors import DataError

CLINC = {
    "oos_train": [["suo2", "oos"]],
    "train": [["what's my balance", "balance"]],
    "oos_test": [],
    "val": [["pay it", "pay_bill"]],
}
ATIS = json_value("""
    {"rasa_nlu_data": {"common_examples": [{"text": "monday morning i fly from st. louis",
        "intent": "flight",
        "entities": [{"start": 26, "end": 35, "value": "st. louis",
          "entity": "fromloc.city_name"},
         {"start": 1, "end": 7, "value": "monday", "entity": "depart_date.day_name"},
         {"start": 7, "end": 14, "value": "morning", "entity": "depart_time.period_of_day"}]},
       {"text": "to nyc", "intent": "city+flight",
        "entities": [{"start": 3, "end": 6, "value": "New York", "entity": "toloc.city_name"}]}]}}
""")
SONOS = json_value("""
    {"AddToPlaylist": [{"data": [{"text": "Add "}, {"text": "Música", "entity": "track"},
        {"text": " to my list. "}]}]}
""")
HWU_FIELDS = (
    *("userid", "answerid", "scenario", "intent", "status", "answer_annotation", "notes"),
    *("suggested_entities", "answer_normalised", "answer", "question"),
)
WAKE = "wake me up at [time : five am] [date : this week]"
HWU = (
    ";".join(HWU_FIELDS)
    + f"""
1;7;alarm;set;null;{WAKE};;;wake me up at five am this week;Wake me up, at 5 am!;q
1;8;alarm;set;IRR;null;;;;;q
1;9;audio;volume_mute;null;quiet;;;quiet;"quiet; please";q
"""
)
FOLD = """\
answerid;scenario;intent;answer_annotation;answer_from_anno;answer_from_user
3;alarm;query;"alarms for [date : today]";"alarms for today";"alarms for today"
"""
MASSIVE = json_value("""
    {"id": "0", "locale": "de-DE", "partition": "dev", "scenario": "alarm",
     "intent": "alarm_set", "worker_id": "8", "utt": "weck mich um fünf uhr auf",
     "annot_utt": "weck mich um [time : fünf uhr] auf"}
""")
RELEASES: dict[str, dict[str, Any]] = {
    "clinc150": {
        "data/data_full.json": CLINC,
        "data/domains.json": {"banking": ["balance"]},
        "data/data_small.json": {},
    },
    "banking77": {
        "train.csv": 'text,category\n"late, again",lost_card\n',
        "test.csv": "text,category\nhi,greet\n",
        "categories.json": [],
    },
    "snips": {
        "AddToPlaylist/train_AddToPlaylist.json": {},
        "AddToPlaylist/train_AddToPlaylist_full.json": SONOS,
        "AddToPlaylist/validate_AddToPlaylist.json": SONOS,
    },
    "atis": {"standard_format/rasa/train.json": ATIS, "standard_format/rasa/test.json": ATIS},
    "hwu64": {"AnnotatedData/NLU-Data-Home-Domain-Annotated-All.csv": HWU},
    "massive": {
        f"1.0/data/{locale}.jsonl": json.dumps(MASSIVE | {"locale": locale})
        for locale in ("de-DE", "en-US", "zh-CN")
    },
    "iob": {
        f"{part}/{name}": line
        for part in ("train", "valid")
        for name, line in {
            "seq.in": "fly to rome\n",
            "seq.out": "O O B-city\n",
            "label": "fly\n",
        }.items()
    },
}


def values(record: dict[str, Any]) -> dict[str, str]:
    return {slot["label"]: record["text"][slot["start"] : slot["end"]] for slot in record["slots"]}


def about(record: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in names)


@pytest.mark.parametrize("name", RELEASES)
def test_each_release_is_told_as_itself(put, name: str):
    assert corpus_of(str(put(RELEASES[name])), None) == name


def test_clinc150_has_domains_and_out_of_scope_utterances_in_their_split(read, put):
    folder = put(RELEASES["clinc150"])
    rows = read(folder)
    assert [about(row, "text", "label", "split", "domain") for row in rows] == [
        ("suo2", "oos", "train", "oos"),
        ("what's my balance", "balance", "train", "banking"),
        ("pay it", "pay_bill", "val", None),
    ]
    assert read(folder / "data/data_full.json", "clinc150") == rows, (
        "domains.json is beside a file named alone, too"
    )


def test_banking77_and_dialoglue_are_quoted_tables(read, put):
    rows = read(
        put(
            RELEASES["banking77"]
            | {"val.csv": "text,category\nbye,part\n", "train_10.csv": "text,category\n"}
        ),
        "dialoglue",
    )
    assert [about(row, "text", "label", "split") for row in rows] == [
        ("late, again", "lost_card", "train"),
        ("bye", "part", "val"),
        ("hi", "greet", "test"),
    ]


def test_snips_takes_the_full_file_and_joins_its_parts(read, put):
    train, val = read(put(RELEASES["snips"]))
    assert about(train, "text", "label", "split") == (
        "Add Música to my list. ",
        "AddToPlaylist",
        "train",
    )
    assert values(train) == values(val) == {"track": "Música"}
    assert val["split"] == "val"


@pytest.mark.parametrize(
    ("said", "text"), [(b"M\xfasica", "Música"), (b"\xed\xa0\xbc\xed\xbd\x95", "\U0001f355")]
)
def test_snips_lines_that_are_not_utf8_are_latin1_or_surrogates(read, put, said: bytes, text: str):
    content = (
        b'{"AddToPlaylist": [{"data": [\n{"text": "S\xc3\xad "},\n{"text": "'
        + said
        + b'", "entity": "track"}]}]}'
    )
    assert values(read(put({"train_AddToPlaylist_full.json": content}))[0]) == {"track": text}


def test_rasa_spans_are_where_their_value_stands(read, put):
    first, second = read(put(RELEASES["atis"]))[:2]
    assert values(first) == {
        "depart_date.day_name": "monday",
        "depart_time.period_of_day": "morning",
        "fromloc.city_name": "st. louis",
    }
    assert [slot["start"] for slot in first["slots"]] == [0, 7, 26]
    assert values(second) == {"toloc.city_name": "nyc"}, "the value is what the text stands for"
    assert about(second, "label", "split") == ("city+flight", "train")


def test_atis_in_lines_of_words_and_tags_ends_with_its_intent(read, put):
    words = "BOS from st. louis today EOS"
    tags = "O O B-fromloc.city_name I-fromloc.city_name B-date atis_flight"
    (row,) = read(put({"atis-2.train.w-intent.iob": f"{words}\t{tags}\n"}))
    assert about(row, "text", "label", "split") == ("from st. louis today", "atis_flight", "train")
    assert values(row) == {"fromloc.city_name": "st. louis", "date": "today"}
    parts = ("atis-2.train", "atis-2.dev", "atis.train", "atis.test")
    files = {f"data/{p}.w-intent.iob": f"BOS {p} EOS\tO O atis_flight\n" for p in parts}
    assert [about(r, "text", "split") for r in read(put(files, "joint"))] == [
        ("atis-2.train", "train"),
        ("atis-2.dev", "val"),
        ("atis.test", "test"),
    ], "atis.train is the first two again"
    with pytest.raises(DataError, match="iob:1: 3 words but 1 tag"):
        read(put({"atis.test.w-intent.iob": "BOS a EOS\tO"}, "cut"))


def test_an_i_that_follows_no_slot_of_its_type_begins_one(read, put):
    words, tags = "a b c d e f", "B-x I-x I-y I-y O I-y"
    folder = put({"seq.in": words, "seq.out": tags, "label": "go"})
    (row,) = read(folder)
    assert read(folder / "seq.in", "iob") == [row], "what is beside a file that was named"
    assert [(s["label"], row["text"][s["start"] : s["end"]]) for s in row["slots"]] == [
        ("x", "a b"),
        ("y", "c d"),
        ("y", "f"),
    ]
    (row,) = read(put({"seq.in": words, "seq.out": "I I-x Z-x I-x O I", "label": "go"}, "odd"))
    found = [(s["label"], row["text"][s["start"] : s["end"]]) for s in row["slots"]]
    assert found == [("", "a"), ("x", "b"), ("x", "d"), ("", "f")], "Z is no slot"


def test_hwu64_has_the_annotated_text_and_what_was_typed(read, put):
    first, second = read(put(RELEASES["hwu64"]))
    assert first["text"] == "wake me up at five am this week"
    assert values(first) == {"time": "five am", "date": "this week"}
    assert about(first, "id", "label", "domain", "answer") == (
        "7",
        "alarm_set",
        "alarm",
        "Wake me up, at 5 am!",
    )
    assert about(second, "text", "answer") == ("quiet", "quiet; please"), (
        "the row that nobody annotated is left out"
    )


def test_a_fold_of_hwu64_has_its_split_and_several_are_refused(read, put):
    fold = {"trainset/alarm_query.csv": FOLD, "testset/csv/alarm_query.csv": FOLD}
    rows = read(put({f"KFold_1/{name}": content for name, content in fold.items()}))
    assert [about(row, "split", "label") for row in rows] == [
        ("train", "alarm_query"),
        ("test", "alarm_query"),
    ]
    assert values(rows[0]) == {"date": "today"}
    folds = {f"KFold_{k}/{name}": content for k in (1, 2) for name, content in fold.items()}
    with pytest.raises(DataError, match="the same intent in 2 folds"):
        read(put(folds, "folds"))


def test_massive_has_slots_of_any_language_and_says_which(read, put):
    folder = put(RELEASES["massive"])
    rows = read(folder)
    assert [row["locale"] for row in rows] == ["de-DE", "en-US", "zh-CN"]
    assert about(rows[0], "text", "label", "split", "domain") == (
        MASSIVE["utt"],
        "alarm_set",
        "val",
        "alarm",
    )
    assert values(rows[0]) == {"time": "fünf uhr"}
    german = folder / "1.0/data/de-DE.jsonl"
    assert read(german, "massive") == read(german) == rows[:1], "one locale, named or not"
    assert read(put({"de-DE.jsonl": json.dumps(MASSIVE)}, "one")) == rows[:1]
    bare = read(
        put({"x.jsonl": json.dumps({"id": "1", "locale": "de-DE", "utt": "hallo"})}) / "x.jsonl",
        "massive",
    )
    assert bare == [{"text": "hallo", "id": "1", "locale": "de-DE"}], (
        "nobody labelled the evaluation set"
    )


BROKEN = broken_files(
    """
clinc150 data_full.json
[1]
-> expected an object of splits, found a list

clinc150 data_full.json
{"rows": []}
-> expected lists train, val, test, oos_train, oos_val, oos_test, found 'rows', a list

clinc150 data_full.json
{"train": [["a"]]}
-> data_full.json:1: expected [text, intent], found a list

banking77 train.csv
text,intent
a,b
-> train.csv:2: expected 'category', found 'text', 'intent'

banking77 train.csv
text,category
a,b,c
-> expected 2 fields (text, category), found 3

snips train_PlayMusic_full.json
[]
-> expected an object of an intent's utterances, found a list

atis train.json
{"nlu": 1}
-> train.json: expected 'rasa_nlu_data', found 'nlu'

atis train.json
{"rasa_nlu_data": {"common_examples": [
  {"text": "a", "entities": [{"start": 0, "end": 9, "entity": "x"}]}]}}
-> entities: 0 to 9 is no part of a text of 1 character

hwu64 NLU-Data-Home-Domain-Annotated-All.csv
scenario;intent
a;b
-> expected 'answer_annotation', found 'scenario', 'intent'

massive en-US.jsonl
{"utt": "a", "partition": "half"}
-> partition: expected train or dev or test, found 'half'
"""
)


@pytest.mark.parametrize(("name", "files", "told"), BROKEN)
def test_another_layout_tells_what_was_expected_and_found(
    read, put, name: str, files: dict[str, Any], told: str
):
    with pytest.raises(DataError, match=re.escape(told)):
        read(put(files), name)


def records_of(shared: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(shared / f"data/eval/{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "name", "train", "val", "test"),
    [
        ("clinc150", "clinc150", 15_100, 3_100, 5_500),
        ("banking77", "banking77", 10_003, 0, 3_080),
        ("snips_iob", "snips", 13_084, 700, 700),
    ],
)
def test_published_counts_and_the_ready_made_records(
    shared: Path, read, folder: str, name: str, train: int, val: int, test: int
):
    rows = read(shared / "data/raw" / folder)
    assert Counter(row["split"] for row in rows) == Counter(train=train, val=val, test=test)
    ready = [
        row | {"split": row["split"].replace("valid", "val")} for row in records_of(shared, name)
    ]
    assert rows == ready


@pytest.mark.shared
def test_sonos_files_hold_the_utterances_and_slots_of_the_usual_split(shared: Path, read):
    """All but one: an emoji stands in it that the tokenised files lost.

    Their test set is part of `train` here.
    """
    rows = read(shared / "data/raw/snips")
    assert Counter(row["split"] for row in rows) == {"train": 13_784, "val": 700}

    def bare(text: str) -> str:
        return "".join(c for c in text.lower() if c.isalnum())

    def key(record: dict[str, Any]) -> tuple[Any, ...]:
        text = record["text"]
        slots = [(bare(text[s["start"] : s["end"]]), s["label"]) for s in record["slots"]]
        return bare(text), record["label"], *slots

    def keys(records: list[dict[str, Any]]) -> Counter[Any]:
        return Counter(map(key, records))

    usual = records_of(shared, "snips")
    assert keys(rows) == keys(usual)
    assert keys([r for r in rows if r["split"] == "val"]) == keys(
        [r for r in usual if r["split"] == "valid"]
    )


def test_utterances_are_pairs_of_themselves_and_no_dialogues(scripts: Path, put):
    folder = put(RELEASES["clinc150"])
    run = ended(scripts / "dial-pairs", "--kind", "self", folder, text=True)
    pairs = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(pair["context"], pair["response"]) for pair in pairs] == [
        ([t], t) for t in ("suo2", "what's my balance", "pay it")
    ]
    run = ended(scripts / "dial-pairs", folder, code=1, text=True)
    assert run.stderr.startswith(f'dial-pairs: {folder}/data/data_full.json:1: no "turns"\n')
    assert "--kind self makes pairs of utterances" in run.stderr


def test_slots_of_a_release_become_templates(scripts: Path, put):
    run = ended(scripts / "dial-augment", put(RELEASES["snips"]), "--to", "jsonl", text=True)
    assert "Add {SLOT} to my list." in {
        json.loads(line)["template"].strip() for line in run.stdout.splitlines()
    }

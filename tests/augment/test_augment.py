"""dial-augment at the prompt: what it learns, makes, keeps apart and refuses."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from written import json_value

from dialtools.augment.book import Book

CITY = ("rome", "oslo", "rome", "Bonn", "bonn", "lima")


def flight(city: str, **more: object) -> dict:
    text = f"fly to {city} now"
    return {
        "text": text,
        "label": "fly",
        "slots": [{"start": 7, "end": 7 + len(city), "label": "city"}],
        **more,
    }


def rows(data: bytes) -> list[dict]:
    return [orjson.loads(line) for line in data.splitlines()]


def check(found: list[dict]) -> None:
    """Slots stand where they say, and the template is the text without them."""
    for row in found:
        text, rest, at = row["text"], [], 0
        for slot in row["slots"]:
            rest += [text[at : slot["start"]]]
            at = slot["end"]
        assert row["template"].replace("{SLOT}", "\0").split("\0") == [*rest, text[at:]]


def test_each_template_is_filled_with_the_most_frequent_values_once(run):
    data = [flight(city, id=i) for i, city in enumerate(CITY)]
    done = run("--top-k", 3, data=data)
    found = rows(done.stdout)
    check(found)
    assert [r["text"] for r in found if not r.get("synthetic")] == [r["text"] for r in data]
    assert [r["text"] for r in found if r.get("synthetic")] == []  # all of them are there already
    assert b"6 utterances (6 + 0 made, 1.0 x) from 1 template; " in done.stderr
    assert b"; 1 entity type, 4 values; dropped 3 repeats of others" in done.stderr
    other = {
        "text": "see lima",
        "label": "look",
        "slots": [{"start": 4, "end": 8, "label": "city"}],
        "id": "z",
        "note": [1],
    }
    found = rows(run("-q", "--top-k", 3, "--seed", 4, data=[*data, other]).stdout)
    made = [r for r in found if r.get("synthetic")]
    assert made == [
        {
            "id": f"z#{i}",
            "label": "look",
            "note": [1],
            "text": text,
            "slots": [{"start": 4, "end": 8, "label": "city"}],
            "template": "see {SLOT}",
            "synthetic": True,
            "source_id": "z",
            "seed": 4,
        }
        for i, text in enumerate(("see rome", "see bonn"), 1)
    ]


def test_texts_of_other_splits_are_neither_learnt_from_nor_made(run):
    data = [
        flight("rome", split="train"),
        flight("oslo", split="train"),
        {
            **flight("lima"),
            "text": "go  to lima now",
            "split": "train",
            "slots": [{"start": 7, "end": 11, "label": "city"}],
        },
        {
            **flight("Rome"),
            "text": "Go to Rome now",
            "split": "test",
            "slots": [{"start": 6, "end": 10, "label": "city"}],
        },
    ]
    done = run(data=data)
    texts = [r["text"] for r in rows(done.stdout)]
    assert "go  to oslo now" in texts and not any(
        " ".join(t.split()).lower() == "go to rome now" for t in texts if t != "Go to Rome now"
    )
    assert b"1 of other splits passed on" in done.stderr
    assert [r["template"] for r in rows(done.stdout) if r.get("split") == "test"] == [
        "Go to {SLOT} now"
    ]


def test_a_book_is_written_edited_merged_and_read_back(run, tmp_path: Path):
    data = [flight(city) for city in CITY]
    run("-q", "--save-book", "a.json", "--no-fill", data=data)
    book = json.loads((tmp_path / "a.json").read_text())
    assert book["types"] == {"city": {"rome": 2, "Bonn": 2, "oslo": 1, "lima": 1}}
    book["types"]["city"] = {"Kyiv": 1}
    (tmp_path / "b.json").write_text(json.dumps(book["types"]))
    (tmp_path / "c.json").write_text('{"city": ["Kyiv", "Łódź"]}')
    found = rows(
        run(
            *shlex.split("-q --book b.json --book c.json --top-k 2 --save-book d.json"), data=data
        ).stdout
    )
    assert [r["text"] for r in found if r.get("synthetic")] == [
        "fly to kyiv now",
        "fly to łódź now",
    ]
    assert json.loads((tmp_path / "d.json").read_text())["types"] == {
        "city": {"Kyiv": 2, "Łódź": 1}
    }
    assert Book.load(str(tmp_path / "a.json")).values("city")[:2] == [("rome", 2), ("Bonn", 2)]


def test_noisy_values_are_left_out_on_request(run):
    data = [
        flight("rome"),
        flight("rome"),
        flight("a very long name"),
        flight("oslo"),
        {"text": "?", "slots": [{"start": 0, "end": 1, "label": "city"}]},
    ]
    done = run("--max-words", 2, data=data)
    assert b"2 values" in done.stderr
    assert b"1 value" in run("--min-count", 2, data=data).stderr
    assert b"0 entity types, 0 values" in run("--types", "person", data=data).stderr


def test_a_report_hints_at_noise(run, tmp_path: Path):
    data = [
        flight("rome"),
        flight("rome"),
        flight("oslo"),
        {"text": "Oslo left", "slots": [{"start": 0, "end": 4, "label": "person"}]},
        {"text": "hi"},
    ]
    done = run("--report", "r.jsonl", "--no-fill", "--slotless", "skip", data=data)
    assert len(rows(done.stdout)) == 4 and b"dropped 1 without slots" in done.stderr
    assert rows((tmp_path / "r.jsonl").read_bytes()) == json_value("""
        [{"type": "city", "values": 2, "mentions": 3, "top": ["rome", "oslo"], "once": 0.5,
          "shared": {"person": 1}},
         {"type": "person", "values": 1, "mentions": 1, "top": ["Oslo"], "once": 1.0,
          "shared": {"city": 1}}]
    """)


def test_templates_may_be_typed_and_are_counted(run, tmp_path: Path):
    data = [flight(city) for city in CITY] + [{"text": "hello"}]
    assert {r["template"] for r in rows(run("-q", "--typed", data=data).stdout)} == {
        "fly to {city} now",
        "hello",
    }
    run("-q", "--save-templates", "t.jsonl", data=data)
    assert rows((tmp_path / "t.jsonl").read_bytes()) == [
        {"template": "fly to {SLOT} now", "count": 6, "slots": 1},
        {"template": "hello", "count": 1, "slots": 0},
    ]


def test_a_template_of_many_slots_is_sampled(run):
    slots = [{"start": 4 * i, "end": 4 * i + 2, "label": "w"} for i in range(9)]
    text = "".join(f"w{i}, " for i in range(9))
    data = [{"text": text, "slots": slots}]
    assert len(rows(run("-q", "--max-per-template", 40, data=data).stdout)) in (40, 41)
    first = run("-q", data=data).stdout
    assert first == run("-q", data=data).stdout and len(rows(first)) in (25, 26)
    assert first != run("-q", "--seed", 1, data=data).stdout
    check(rows(first))


def test_iob_folders_and_the_notation_of_massive_read_as_they_are(run, tmp_path: Path):
    for split, (text, tags) in {
        "train": ("fly to new york now ", "O O B-city I-city O "),
        "test": ("fly to rome", "O O I-city"),
    }.items():
        (tmp_path / "atis" / split).mkdir(parents=True)
        for name, line in {"seq.in": text, "seq.out": tags, "label": "fly"}.items():
            (tmp_path / "atis" / split / name).write_text(line + "\n")
    found = rows(run("-q", "atis").stdout)
    assert [(r["text"], r["slots"], r["label"], r["split"]) for r in found] == [
        ("fly to new york now", [{"start": 7, "end": 15, "label": "city"}], "fly", "train"),
        ("fly to rome", [{"start": 7, "end": 11, "label": "city"}], "fly", "test"),
    ]
    massive = [
        {
            "id": "0",
            "utt": "wake me at nine",
            "annot_utt": "wake me at [time : nine]",
            "intent": "alarm_set",
            "partition": "train",
        }
    ]
    assert rows(run("-q", "--types", "time", data=massive).stdout)[0] == {
        "id": "0",
        "label": "alarm_set",
        "split": "train",
        "text": "wake me at nine",
        "slots": [{"start": 11, "end": 15, "label": "time"}],
        "template": "wake me at {SLOT}",
    }
    (tmp_path / "atis/train/seq.out").write_text("O O\n")
    assert b"seq.in:1: 5 words but 2 tags" in run("atis", code=1).stderr


def test_values_of_plain_texts_come_from_a_book_a_pipeline_or_another_tagger(run, tmp_path: Path):
    import spacy

    texts = [{"id": "a", "text": "fly to Rome"}, {"id": "b", "text": "back from new york"}]
    (tmp_path / "book.json").write_text('{"city": ["rome", "New York"]}')
    wanted = ["fly to {SLOT}", "back from {SLOT}"]
    found = rows(run("-q", "--no-fill", "--ner", "rules", "--book", "book.json", data=texts).stdout)
    assert [r["template"] for r in found] == wanted
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(
        [{"label": "GPE", "pattern": "Rome"}, {"label": "GPE", "pattern": "new york"}]
    )
    nlp.to_disk(tmp_path / "pipeline")
    found = rows(run("-q", "--typed", "--ner", "pipeline", data=texts).stdout)
    assert [r["template"] for r in found if not r.get("synthetic")] == [
        "fly to {GPE}",
        "back from {GPE}",
    ]
    assert [r["text"] for r in found if r.get("synthetic")] == ["fly to new york", "back from rome"]
    (tmp_path / "spans.jsonl").write_text('{"id":"b","start":10,"end":18,"label":"city"}\n')
    assert [r["template"] for r in rows(run("-q", "--spans", "spans.jsonl", data=texts).stdout)][
        :2
    ] == ["fly to Rome", "back from {SLOT}"]
    zh = [{"text": "我要去北京"}, {"text": "从上海来"}]
    (tmp_path / "zh.json").write_text('{"city": ["北京", "上海"]}')
    found = rows(
        run("-q", "--ner", "rules", "--language", "zh", "--book", "zh.json", data=zh).stdout
    )
    assert [r["text"] for r in found] == ["我要去北京", "我要去上海", "从上海来", "从北京来"]


def test_values_of_a_book_are_found_in_scripts_without_blanks_and_before_particles(
    run, tmp_path: Path
):
    texts = [
        "京都までの切符",
        "ที่เชียงใหม่ครับ",
        "去北京吗",
        "서울에서 새서울",
        "물 좀, 물론",
        "Ko\u0308ln!",
        "ไทย",
    ]
    values = ["京都", "เชียงใหม่", "北京", "서울", "물", "Köln", "ไ"]
    (tmp_path / "b.json").write_text(json.dumps({"x": values}))
    data = [{"text": text} for text in texts]
    found = rows(run("-q", "--no-fill", "--ner", "rules", "--book", "b.json", data=data).stdout)
    assert [r["template"] for r in found] == [
        *("{SLOT}までの切符", "ที่{SLOT}ครับ", "去{SLOT}吗", "{SLOT}에서 새서울"),
        *("{SLOT} 좀, 물론", "{SLOT}!", "{SLOT}ทย"),
    ]


def talk(*turns: tuple[str, dict[str, str]]) -> dict:
    def turn(text: str, values: dict[str, str]) -> dict:
        return {
            "speaker": "user",
            "text": text,
            "slots": [
                {"start": text.index(v), "end": text.index(v) + len(v), "label": k}
                for v, k in values.items()
            ],
        }

    return {"id": "d", "turns": [turn(*t) for t in turns]}


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"text": "in rome", "spans": [{"start": 3, "end": 7, "label": "x"}]}, '"spans": rename'),
        ({"turns": [{"text": "in rome", "entities": [{"start": 3}]}]}, '"entities": rename it to'),
        ({"text": "in rome", "tokens": ["in", "rome"], "tags": ["O", "B-x"]}, '"tags": --from iob'),
        ({"text": "in rome", "spans": [], "entities": ["x"], "tags": ["urgent"]}, ""),
    ],
)
def test_values_that_others_have_marked_are_told_with_what_makes_them_slots(run, record, says):
    bare, slotted = {"text": "hi"}, flight("rome")
    told = run(data=[bare, record]).stderr.decode()
    assert (f"no record has slots, but some have {says}" in told) == bool(says)
    assert "no record has slots" not in run(data=[record, slotted]).stderr.decode()
    without = {name: value for name, value in record.items() if name != "text"}
    if "tokens" in record:
        assert says in run(data=[without], code=1).stderr.decode()


def test_a_value_is_replaced_in_all_turns_of_a_dialogue(run):
    one = talk(("from rome to oslo", {"rome": "city", "oslo": "city"}), ("Rome to Oslo, fine", {}))
    two = talk(("bonn", {"bonn": "city"}), ("lima", {"lima": "city"}))
    made = [r for r in rows(run("-q", data=[one, two]).stdout) if r.get("synthetic")]
    for row in made:
        values = [
            [t["text"][s["start"] : s["end"]].lower() for s in t["slots"]] for t in row["turns"]
        ]
        told = (
            values[1] if row["source_id"] == "d" and len(values[0]) == 2 else values[0] + values[1]
        )
        assert len(set(told)) == 2  # two values never become one
        if len(values[0]) == 2:
            assert values[0] == values[1]
            assert row["turns"][0]["text"] == "from {} to {}".format(*values[0])
    assert {r["turns"][0]["speaker"] for r in made} == {"user"} and len(made) > 4


def test_offsets_that_pandas_made_floats_are_whole_numbers(run):
    slot = {"start": 4.0, "end": 8.0, "label": "city"}
    done = run(data=[{"text": "fly rome", "slots": [slot]}])
    assert rows(done.stdout)[0]["slots"] == [{"start": 4, "end": 8, "label": "city"}]


@pytest.mark.parametrize(
    "turns",
    [
        (("rome", {"rome": "city"}), ("call rome", {"rome": "person"})),
        (("for 6", {"6": "people"}), ("at 6 pm", {})),
    ],
)
def test_a_dialogue_in_which_a_value_is_ambiguous_is_not_filled(run, turns: tuple):
    done = run(data=[talk(*turns), talk(("oslo for 2", {"oslo": "city", "2": "people"}))])
    assert b"1 dialogue ambiguous, not filled" in done.stderr
    assert [r["turns"][0]["text"] for r in rows(done.stdout)][:1] == [turns[0][0]]
    assert all(len(r["turns"]) == 1 for r in rows(done.stdout) if r.get("synthetic"))


@pytest.mark.parametrize(
    ("words", "data", "code", "says"),
    [
        (
            (),
            [{"text": "hi", "slots": [{"start": 0, "end": 3, "label": "x"}]}],
            1,
            "<stdin>:1: slots[0]: 0 to 3 is no part of a text of 2 characters",
        ),
        (
            (),
            [{"text": "hi", "slots": [{"start": 0, "end": 1, "label": "{x}"}]}],
            1,
            "slots[0].label: expected a name without braces, got '{x}'",
        ),
        (
            (),
            [{"text": "hi", "slots": [{"begin": 0, "end": 1, "type": "x"}]}],
            1,
            "slots[0]: no start and no label; there are begin, end, type",
        ),
        ((), [{"text": 3}], 1, "text: expected a string, got a number"),
        ((), [{"words": "hi"}], 1, 'no "text"'),
        (("--ner", "no_such"), [{"text": "x"}], 1, "no spaCy pipeline 'no_such'"),
        (("--ner", "click"), [{"text": "x"}], 1, "no spaCy pipeline 'click'"),
        (("--ner", "numpy"), [{"text": "x"}], 1, "no spaCy pipeline 'numpy'"),
        (("--book", "no.json"), [], 1, "no.json: No such file or directory"),
        (("--max-per-template", "0"), [], 2, "must be 1 or more, or all"),
    ],
)
def test_what_cannot_be_is_said(
    run, words: tuple, data: list, code: int, says: str, tmp_path: Path
):
    assert says in run(*words, data=data, code=code).stderr.decode()
    assert not [p for p in tmp_path.iterdir() if p.suffix != ".json"]


def test_bad_records_are_skipped_on_request_and_an_empty_file_is_no_trouble(run, tmp_path: Path):
    done = run("--on-error", "skip", data=[{"words": 1}, flight("rome")], code=3)
    assert len(rows(done.stdout)) == 1 and b"1 bad record skipped" in done.stderr
    (tmp_path / "empty.jsonl").touch()
    assert b"0 utterances (0 + 0 made) from 0 templates" in run("empty.jsonl").stderr
    assert rows(run("-q", "-n", 1, data=[flight("rome"), flight("oslo")]).stdout) == rows(
        run("-q", data=[flight("rome")]).stdout
    )


def test_dialogues_of_a_table_are_those_of_lines(run, tmp_path: Path):
    said = [{"text": "to rome", "slots": [{"start": 3, "end": 7, "label": "city"}], "acts": ["go"]}]
    talks = [{"id": "a", "turns": [*said, {"text": "ok", "mood": "glad"}]}]
    pq.write_table(pa.Table.from_pylist(talks), tmp_path / "talks.parquet")
    assert rows(run("talks.parquet").stdout) == rows(run(data=talks).stdout)


def test_columns_out(run, tmp_path: Path):
    run(
        "-q",
        "-o",
        "x.parquet",
        data=[
            flight("rome"),
            {
                **flight("oslo"),
                "text": "see oslo",
                "slots": [{"start": 4, "end": 8, "label": "city"}],
            },
        ],
    )
    table = pq.read_table(tmp_path / "x.parquet").to_pylist()
    assert [r["text"] for r in table] == [
        "fly to rome now",
        "fly to oslo now",
        "see oslo",
        "see rome",
    ]
    assert [r["synthetic"] for r in table] == [None, True, None, True]


@pytest.mark.shared
def test_snips_has_its_published_size(run, shared: Path, tmp_path: Path):
    """39 types, 11,255 values, 7,140 templates; 25 a template make 164,465.

    The originals are among them.
    """
    done = run("-o", "x.jsonl", shared / "data/raw/snips_iob")
    assert (
        b"(13,084 + 163,614 made, 13.5 x) from 7,140 templates; 39 entity types, 11,255 values"
        in done.stderr
    )
    assert b"dropped 851 repeats of others" in done.stderr  # 163,614 + 851 = 164,465
    check(rows((tmp_path / "x.jsonl").read_bytes()))

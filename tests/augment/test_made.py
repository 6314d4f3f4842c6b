"""Records to records with their templates, and what is made of them: exact rows, in process."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from least import check_least, own_hows
from pair_corpus import as_lines

from dialtools.augment.job import Augment
from dialtools.augment.options import ALL, AugmentOptions
from dialtools.errors import ConfigError, DataError
from dialtools.streams.policy import Policy

NOT_ENGLISH = '"a" or "an" before values is not the English article here'


@pytest.fixture
def job(tmp_path: Path):
    """Run dial-augment on records; returns the run, and the records that came out."""

    def run(
        records: list[dict[str, Any]], *, bad: str = "fail", **options: Any
    ) -> tuple[Augment, list[dict[str, Any]]]:
        (tmp_path / "in.jsonl").write_bytes(as_lines(records))
        made = Augment(AugmentOptions(inputs=(str(tmp_path / "in.jsonl"),), **options), Policy(bad))
        return made, list(made.run())

    return run


def said(text: str, *slots: tuple[int, int, str], **more: object) -> dict[str, Any]:
    spans = [dict(zip(("start", "end", "label"), slot, strict=True)) for slot in slots]
    return {"text": text, "slots": spans, **more}


def test_a_template_is_filled_once_a_label_and_copies_of_others_are_dropped(job):
    rows = [
        said("to rome", (3, 7, "city"), label="go"),
        said("to oslo", (3, 7, "city"), label="go"),
        said("to lima", (3, 7, "city"), label="see"),
        said("see ROME", (4, 8, "city"), label="see"),
    ]
    done, found = job(rows)
    made = [(r["text"], r["label"]) for r in found if r.get("synthetic")]
    assert made == [("see oslo", "see"), ("see lima", "see")]
    assert [r for r in found if not r.get("synthetic")] == [
        {**row, "template": template}
        for row, template in zip(rows, ["to {SLOT}"] * 3 + ["see {SLOT}"], strict=True)
    ]
    assert dict(done.tally.dropped) == {"repeats of others": 3 + 3 + 1}
    assert (done.originals, done.synthetic, done.tally.kept) == (4, 2, 6)


@pytest.mark.parametrize("label", ["label", "labels"])
def test_a_template_of_two_labels_is_filled_for_both_by_either_name(job, label: str):
    rows = [
        said(f"{who} to rome", (0, 3, "who"), (7, 11, "city"), **{label: [kind]})
        for who, kind in (("Ann", "go"), ("Bob", "see"), ("Eve", "see"))
    ]
    cities = [said(f"{where} oslo", (3, 7, "city")) for where in ("in", "at", "by")]
    _, found = job([*rows, *cities], min_count=3)
    made = [(row["text"], row[label]) for row in found if row.get("synthetic") and label in row]
    assert made == [("Ann to oslo", ["go"]), ("Bob to oslo", ["see"])]


def test_dialogues_of_other_turns_are_no_copies_whatever_their_texts_hold(job):
    rows = [
        {"turns": [said("hi\0to oslo", (6, 10, "city"))]},
        {"turns": [said("hi"), said("to rome", (3, 7, "city"))]},
    ]
    done, found = job(rows)
    made = [[turn["text"] for turn in r["turns"]] for r in found if r.get("synthetic")]
    assert made == [["hi\0to rome"], ["hi", "to oslo"]] and done.synthetic == 2


def test_what_a_made_record_has_of_its_source(job):
    rows = [
        said("to rome", (3, 7, "city"), id="a", label="go", note=1),
        said("oslo", (0, 4, "city")),
    ]
    _, found = job(rows, seed=3, typed=True)
    assert found == [
        {**rows[0], "template": "to {city}"},
        {
            "id": "a#1",
            "label": "go",
            "note": 1,
            "text": "to oslo",
            "slots": rows[0]["slots"],
            "template": "to {city}",
            "synthetic": True,
            "source_id": "a",
            "seed": 3,
        },
        {**rows[1], "template": "{city}"},
        {
            "text": "rome",
            "slots": rows[1]["slots"],
            "template": "{city}",
            "synthetic": True,
            "source_id": found[3]["source_id"],
            "seed": 3,
        },
    ]
    assert found[3]["source_id"].endswith("in.jsonl:2")


@pytest.mark.parametrize(
    ("texts", "made", "english"),
    [
        (["a taxi", "see an uber", "a taxi?"], ["an uber", "see a taxi", "an uber?"], True),
        (["a taxi"], [], True),
        (["a Madrid", "voy a Oslo"], ["a Oslo", "voy a Madrid"], False),
        (["Flug an Oslo", "an Berta"], ["Flug an Berta", "an Oslo"], False),
    ],
)
def test_articles_are_adapted_where_those_before_values_are_english(job, texts, made, english):
    values = [re.search(r"(taxi|uber|Madrid|Oslo|Berta)", text) for text in texts]
    rows = [said(t, (*at.span(), "x")) for t, at in zip(texts, values, strict=True)]
    done, found = job(rows)
    assert [r["text"] for r in found if r.get("synthetic")] == made
    assert list(done.notes()) == ([] if english else [f"{NOT_ENGLISH}: it stays as it is"])


def test_ids_that_are_numbers_fit_one_column_with_those_of_made_records(job):
    rows = [said("to rome", (3, 7, "city"), id=1), said("see oslo", (4, 8, "city"), id=2)]
    assert [r["id"] for r in job(rows)[1]] == ["1", "1#1", "2", "2#1"]


def test_other_splits_are_passed_on_and_their_texts_never_made(job):
    rows = [
        said("to rome", (3, 7, "city"), split="a"),
        said("to oslo", (3, 7, "city")),
        said("to lima", (3, 7, "city"), split="b"),
        said("in rome", (3, 7, "city"), split="a"),
        said("In  OSLO", (4, 8, "city"), split="b"),
    ]
    done, found = job(rows, train_split="a")
    assert [r["text"] for r in found] == [r["text"] for r in rows]
    assert (done.passed, done.originals, done.synthetic) == (2, 3, 0)
    assert done.line() == (
        "3 utterances (3 + 0 made, 1.0 x) from 2 templates; 1 entity type, 2 values; "
        "2 of other splits passed on; dropped 4 repeats of others"
    )


def test_the_most_frequent_values_fill_and_types_may_be_chosen_and_shortened(job):
    rows = [said("rome may", (0, 4, "to.city"), (5, 8, "day"))]
    rows += [said(city, (0, 4, "to.city")) for city in ("oslo", "oslo", "lima", "bonn", "bonn")]
    _, found = job(rows, top_k=2, types=("city",), short_types=True, typed=True)
    assert [r["text"] for r in found if r.get("synthetic")] == ["oslo may", "bonn may"]
    assert {r["template"] for r in found} == {"{city} may", "{city}"}
    _, found = job(rows, fill=False, max_words=1)
    assert len(found) == 6 and found[0]["template"] == "{SLOT} {SLOT}"


def test_types_of_a_book_are_shortened_like_those_of_the_records(job, tmp_path: Path):
    (tmp_path / "b.json").write_text('{"to.city": {"oslo": 1}, "city.": ["lima"]}')
    rows = [said("rome", (0, 4, "from.city")), said("bonn", (0, 4, "city."))]
    _, found = job(rows, book=(str(tmp_path / "b.json"),), short_types=True, typed=True)
    made = [(r["text"], r["template"]) for r in found if r.get("synthetic")]
    assert made == [("oslo", "{city}"), ("lima", "{city.}")]


def test_templates_and_texts_without_slots_are_counted(job):
    rows = [said("to rome", (3, 7, "a")), said("to oslo", (3, 7, "b")), {"text": "hi"}]
    rows += [{"text": "hi"}, {"text": "ho"}, said("rome oslo", (0, 4, "a"), (5, 9, "b"))]
    done, _ = job(rows, save_templates="t.jsonl")
    assert list(done.template_records()) == [
        {"template": "hi", "count": 2, "slots": 0},
        {"template": "to {SLOT}", "count": 2, "slots": 1},
        {"template": "ho", "count": 1, "slots": 0},
        {"template": "{SLOT} {SLOT}", "count": 1, "slots": 2},
    ]
    assert "6 utterances (6 + 0 made, 1.0 x) from 5 templates" in done.line()
    done, _ = job(rows, typed=True, slotless="skip", save_templates="t.jsonl")
    assert [r["template"] for r in done.template_records()] == ["to {a}", "to {b}", "{a} {b}"]
    assert [r["slots"] for r in done.template_records()] == [1, 1, 2]
    assert dict(done.tally.dropped)["without slots"] == 3
    done, _ = job([said("{SLOT} to rome", (10, 14, "a"))], save_templates="t.jsonl")
    assert [r["slots"] for r in done.template_records()] == [1], "what a text says is no slot"


def test_of_texts_and_their_templates_none_is_held(tmp_path: Path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(as_lines([{"text": f"{n} {'long ' * 800}"} for n in range(1000)]))
    made = Augment(AugmentOptions(inputs=(str(path),)), Policy())
    tracemalloc.start()
    assert sum(1 for _ in made.run()) == made.typed == 1000
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < path.stat().st_size / 4


def test_a_limit_counts_made_records_too(job):
    rows = [said("to rome", (3, 7, "c")), said("see oslo", (4, 8, "c"))]
    _, whole = job(rows)
    assert [job(rows, limit=n)[1] for n in range(6)] == [whole[:n] for n in range(6)]
    assert len(whole) == 4


def test_turns_of_a_dialogue_keep_their_fields_and_an_utterance_its_own(job):
    turns = [{"speaker": "u", **said(" rome ", (0, 5, "city"), acts=["go"])}, "Rome?"]
    rows = [{"id": 7, "topic": "x", "dialogue": turns}, {"turns": [said("oslo", (0, 4, "city"))]}]
    done, found = job(rows)
    assert found[0] == {
        "id": "7",
        "topic": "x",
        "turns": [
            {
                "speaker": "u",
                "text": " rome ",
                "slots": [{"start": 1, "end": 5, "label": "city"}],
                "acts": ["go"],
                "template": " {SLOT} ",
            },
            {"text": "Rome?", "slots": [], "template": "Rome?"},
        ],
    }
    assert [t["text"] for t in found[1]["turns"]] == [" oslo ", "Oslo?"]
    assert (found[1]["id"], found[1]["source_id"], found[1]["topic"]) == ("7#1", "7", "x")
    assert done.line().startswith("4 dialogues (2 + 2 made, 2.0 x) from 3 templates; ")


def test_numbers_have_least_values_and_some_options_only_change_how_a_run_goes():
    one = ("1", "0")
    least = {"top_k": one, "min_count": one, "max_words": one, "max_per_template": one}
    check_least(AugmentOptions, least)
    assert own_hows(AugmentOptions) == {"dry_run", "report", "save_book", "save_templates", "shard"}
    assert AugmentOptions(top_k=3).most == 9 and AugmentOptions(max_per_template=ALL).most == ALL
    assert AugmentOptions(max_per_template=1).most == 1


def test_a_tagger_marks_what_nobody_has_marked(job, tmp_path: Path):
    (tmp_path / "b.json").write_text('{"city": {"rome": 2, "new york": 1}, "day": ["may"]}')
    rows = [
        said("rome", (0, 1, "letter")),
        {"text": "Rome in May"},
        said("oslo"),
        {"turns": [{"text": "new york"}, "rome"]},
    ]
    _, found = job(rows, ner="rules", book=(str(tmp_path / "b.json"),), fill=False, typed=True)
    assert [r.get("template") for r in found[:3]] == ["{letter}ome", "{city} in {day}", "oslo"]
    assert [t["template"] for t in found[3]["turns"]] == ["{city}", "{city}"]


def test_spans_of_another_tagger_take_the_place_of_those_of_the_records(job, tmp_path: Path):
    spans = [
        {"id": "a", "start": 3, "end": 7, "label": "x"},
        {"id": "a", "start": 8, "end": 11, "label": "y"},
        {"id": 2, "start": 0, "end": 2, "label": "z"},
    ]
    (tmp_path / "s.jsonl").write_bytes(as_lines(spans))
    rows = [said("to rome may", (0, 2, "old"), id="a"), {"text": "by day"}, said("b", (0, 1, "o"))]
    _, found = job(rows, spans=str(tmp_path / "s.jsonl"), typed=True, fill=False)
    # a record without an id goes by its line
    assert [r["template"] for r in found] == ["to {x} {y}", "{z} day", "{o}"]
    nameless = {"text": "by day", "id": None}
    _, found = job([*rows[:1], nameless], spans=str(tmp_path / "s.jsonl"), typed=True, fill=False)
    assert found[1]["template"] == "{z} day", "a null is no id"
    (tmp_path / "f.jsonl").write_bytes(as_lines([{**span, "id": 7.0} for span in spans[:2]]))
    _, found = job([rows[0] | {"id": 7}], spans=str(tmp_path / "f.jsonl"), typed=True, fill=False)
    assert found[0]["template"] == "to {x} {y}", "pandas has 7.0 for 7 in a column with gaps"
    twice = [{"text": "x"}, nameless]
    (tmp_path / "a.jsonl").write_bytes(as_lines(twice))
    inputs = (str(tmp_path / "a.jsonl"),) * 2
    asked = AugmentOptions(inputs=inputs, spans=str(tmp_path / "s.jsonl"))
    with pytest.raises(DataError, match="took the slots of line 2"):
        list(Augment(asked, Policy()).run())
    rows = [said(text, (0, 1, "o"), id=2) for text in ("by day", "in may")]
    made, found = job(rows, spans=str(tmp_path / "s.jsonl"), typed=True, fill=False)
    assert [r["template"] for r in found] == ["{z} day", "{z} may"], "of both, as of two splits"
    assert list(made.notes()) == [f"{tmp_path}/s.jsonl: 1 id that no record has"]
    with pytest.raises(DataError, match="no record has an id that it names"):
        job([said("b", (0, 1, "o"), id="c")], spans=str(tmp_path / "s.jsonl"))
    with pytest.raises(DataError, match="--spans marks utterances"):
        job([{"id": "a", "turns": ["x"]}], spans=str(tmp_path / "s.jsonl"))
    (tmp_path / "s.jsonl").write_text('{"start":0,"end":1,"label":"x"}\n')
    with pytest.raises(DataError, match="there is no id"):
        job(rows, spans=str(tmp_path / "s.jsonl"))


def test_bad_records_are_counted_and_so_are_dialogues_that_are_not_clear(job):
    talk = {"turns": [said("rome", (0, 4, "city")), said("call rome", (5, 9, "person"))]}
    made, found = job(
        [{"words": 1}, talk, talk | {"id": 3}, said("oslo", (0, 4, "city"))], bad="skip"
    )
    assert (made.policy.skipped, made.ambiguous, len(found)) == (1, 2, 4)
    assert "2 dialogues ambiguous, not filled" in made.line()
    with pytest.raises(DataError, match='no "text"'):
        job([{"words": 1}])


def test_a_type_without_values_in_the_book_keeps_what_stands_there(job, tmp_path: Path):
    (tmp_path / "b.json").write_text('{"city": ["lima"]}')
    rows = [said("an hour to rome", (0, 7, "time"), (11, 15, "city"))]
    _, found = job(rows, book=(str(tmp_path / "b.json"),))
    assert [r["text"] for r in found] == ["an hour to rome", "an hour to lima"]


def test_with_a_book_nothing_is_learnt_from_the_records(job, tmp_path: Path):
    (tmp_path / "b.json").write_text('{"city": ["lima"]}')
    made, found = job([said("to rome", (3, 7, "city"))], book=(str(tmp_path / "b.json"),))
    assert made.book.values("city") == [("lima", 1)]
    assert [r["text"] for r in found] == ["to rome", "to lima"]


PART = {"inputs": ("a",), "shard": "1/2"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ner": "x", "spans": "s"}, "--ner or --spans: give one"),
        ({"ner": "rules"}, "finds the values of a --book FILE"),
        ({"output": "o", "report": "./o"}, "two outputs have one name"),
        ({"save_book": "o", "save_templates": "o"}, "two outputs have one name"),
        (PART, "no part knows the values"),
        (PART | {"fill": False, "report": "r"}, "are of all parts"),
        (PART | {"fill": False, "limit": 0}, "--limit counts the records of all parts"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], says: str):
    with pytest.raises(ConfigError, match=says):
        AugmentOptions(**options)


def test_options_that_only_look_alike_are_taken():
    for options in (
        {"ner": "rules", "book": ("b",), "language": "zh"},
        {"ner": "x"},
        PART | {"fill": False},
        {"output": "o", "report": "r", "save_book": "b", "save_templates": "t"},
    ):
        assert AugmentOptions(**options).most == 25


def test_what_no_record_has_is_told(job):
    rows = [said("to rome", (3, 7, "city")) | {"split": "test"}]
    made, found = job(rows, types=("city", "town"), train_split="fit")
    assert list(made.notes()) == [
        "--types city,town: no value is of that type",
        "--train-split fit: no record is of it, none is filled",
    ]
    made, found = job(rows, types=("city", "town"), train_split="test")
    assert list(made.notes()) == ["--types town: no value is of that type"]
    made, found = job([*rows, said("hi")], limit=1)
    assert len(found) == 1 and not list(made.notes())


@pytest.mark.parametrize("limit", range(5))
def test_no_more_is_counted_than_a_limit_lets_out(tmp_path: Path, limit: int):
    line = '{"text": "to rome", "slots": [{"start": 3, "end": 7, "label": "city"}]}\n'
    (tmp_path / "a.jsonl").write_text(line + line.replace("rome", "oslo"))
    options = AugmentOptions(inputs=(str(tmp_path / "a.jsonl"),), limit=limit)
    job = Augment(options, Policy())
    written = list(job.run())
    assert len(written) == job.tally.kept == job.originals + job.synthetic <= limit

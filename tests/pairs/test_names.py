"""Blanks, nulls and NaN are no names: rows without one share no dialogue, id or speaker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from at_work import ended

from dialtools.augment.job import Augment
from dialtools.augment.options import AugmentOptions
from dialtools.corpora.dialogues import called, dialogue, identity_of, naming
from dialtools.corpora.options import LogOptions
from dialtools.corpora.shape import Shaper
from dialtools.freq.places import Places
from dialtools.pairs.convert import _standing_alone
from dialtools.roles import UNKNOWN, USER, role_of
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

TURNS = [{"text": "a one", "speaker": "x"}, {"text": "b two", "speaker": ""}]


@pytest.mark.parametrize("nothing", [None, "", "  ", float("nan")])
def test_what_is_no_name_hides_no_other(nothing: object):
    assert identity_of(nothing, "id") is None
    assert dialogue({"id": nothing, "turns": TURNS}).id is None
    assert dialogue({"id": nothing, "dialogue_id": "d", "turns": TURNS}).id == "d"
    name, record = _standing_alone({"id": nothing, "text": "hello"})
    assert (name, record["text"]) == ("hello", "hello")


def test_a_field_that_is_not_asked_for_the_name_is_carried_along_whatever_it_holds():
    record = {"id": "a", "dialogue_id": {"b": 1}, "turns": TURNS}
    assert naming(record) == ("a", ("id",)) and dialogue(record).id == "a"
    ((shaped, *_),) = Shaper(LogOptions(), Tally())(record)
    assert (shaped["id"], shaped["dialogue_id"]) == ("a", {"b": 1})
    assert naming({"dialogue_id": "d", "id": None}) == ("d", ("id", "dialogue_id"))


def test_an_utterance_goes_where_its_dialogue_goes():
    assert _standing_alone({"text": "hello", "dialogue_id": "d", "id": "u1"})[0] == "d"
    assert _standing_alone({"text": "hello", "id": "u1"})[0] == "u1"


def test_a_speaker_without_a_name_is_nobody():
    assert dialogue({"turns": TURNS}).speakers == ["x", None]
    said = {"text": "a", "speaker": None, "role": "user"}
    assert dialogue({"turns": [said]}).speakers == ["user"]
    assert role_of("") == role_of(" ") == UNKNOWN
    assert role_of("Prompter") == role_of("user") == USER
    for blank in ("", " ", None):
        beside = {"turns": [{"speaker": blank, "role": "user", "text": "a"}]}
        ((shaped, *_),) = Shaper(LogOptions(), Tally())(beside)
        assert shaped["turns"] == [{"speaker": "user", "text": "a"}]
        assert dialogue(beside).speakers == ["user"]
        assert called(blank) is None


def test_a_whole_number_of_a_column_with_gaps_is_a_name_without_a_fraction():
    assert identity_of(7.0, "id") == identity_of(7, "id") == "7"
    assert identity_of(7.5, "id") == "7.5"


def test_a_null_of_a_turn_does_not_hide_what_its_dialogue_says():
    turn = {"text": "a", "domain": None, "mood": None, "turn": None}
    ((shaped, *_),) = Shaper(LogOptions(), Tally())({"turns": [turn], "domain": "taxi"})
    assert shaped == {"turns": [{"text": "a"}], "domain": "taxi"}


def test_a_response_counts_once_a_turn_without_its_window_and_with_turns_of_pandas():
    places = Places()
    row = {"response": "ok", "dialogue_id": "d", "turn": 2, "window": 1}
    for more in ({}, {"turn": 2.0}, {"window": 3}):
        assert places.place(row | more)[:2] == ("d", 2)
    del row["window"]
    assert places.place(row) == ("d", 2, None)
    assert places.place(row | {"dialogue_id": " "}) is None
    blank = row | {"dialogue_id": "", "window": 1}
    assert places.place(blank) != places.place(blank), "two turns, for all that is known"


def made(tmp_path: Path, *rows: dict, **options: object) -> list[dict]:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    named = AugmentOptions(inputs=(str(tmp_path / "in.jsonl"),), **options)
    return list(Augment(named, Policy()).run())


def test_a_record_without_a_split_is_learnt_from_and_without_an_id_has_no_namesake(tmp_path: Path):
    city = {"slots": [{"start": 3, "end": 7, "label": "city"}]}
    rows = [{"id": None, "split": None, "text": f"to {name}", **city} for name in ("rome", "oslo")]
    rows[1]["text"] = "in oslo"
    found = made(tmp_path, *rows)
    synthetic = [row for row in found if row.get("synthetic")]
    assert {row["text"] for row in synthetic} == {"to oslo", "in rome"}
    assert all("None" not in str(row.get("id", "")) for row in synthetic)
    assert len({row["source_id"] for row in synthetic}) == 2
    for split, named in ((" ", "train"), (1, "1"), (1.0, "1"), (True, "true")):
        again = made(tmp_path, *(row | {"split": split} for row in rows), train_split=named)
        assert sum("synthetic" in row for row in again) == 2
    assert len(made(tmp_path, *(row | {"split": 0} for row in rows))) == 2


def test_skipping_what_has_no_slots_skips_no_test_row_and_makes_none(tmp_path: Path):
    rows = [
        {"text": "fly to rome", "slots": [{"start": 7, "end": 11, "label": "city"}]},
        {"text": "go to paris", "slots": [{"start": 6, "end": 11, "label": "city"}]},
        {"text": "hello"},
        {"text": "fly to paris", "split": "test"},
    ]
    found = [(row["text"], row.get("synthetic")) for row in made(tmp_path, *rows, slotless="skip")]
    assert ("fly to paris", None) in found and ("fly to paris", True) not in found
    assert ("hello", None) not in found and ("go to rome", True) in found


@pytest.mark.parametrize("flags", [("--kind", "self"), ("--distinct",)])
def test_a_sample_of_distinct_pairs_is_a_share_of_those_in_any_order(
    mined: Callable[..., list[bytes]], flags: tuple[str, ...]
):
    """Drawn before doubles went, a text of a thousand dialogues was in every sample."""
    talks = [[f"q {row % 200}", f"a {row % 200}"] for row in range(2000)]
    every, some = mined(talks, *flags), mined(talks, *flags, "--sample", ".2")
    assert len(some) == pytest.approx(0.2 * len(every), rel=0.3)
    assert sorted(mined(talks[::-1], *flags, "--sample", ".2")) == sorted(some)


@pytest.fixture
def mined(scripts: Path, environment: dict[str, str], tmp_path: Path) -> Callable[..., list[bytes]]:
    """Return the texts of the pairs of dialogues."""

    def run(talks: list[list[str]], *flags: str) -> list[bytes]:
        lines = "".join(json.dumps({"turns": talk}) + "\n" for talk in talks)
        (tmp_path / "talks.jsonl").write_text(lines)
        line = [str(scripts / "dial-pairs"), "-q", *flags, "talks.jsonl"]
        done = ended(*line, env=environment, cwd=tmp_path)
        pairs = map(json.loads, done.stdout.splitlines())
        return [json.dumps([pair["context"], pair["response"]]).encode() for pair in pairs]

    return run

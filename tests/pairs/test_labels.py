"""--kind same-label: texts that somebody gave one label, against what the help says."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import orjson
import pytest
from at_work import ended
from hypothesis import given, settings
from hypothesis import strategies as st

from dialtools.corpora.fields import as_text
from dialtools.pairs.job import input_chunks, mine
from dialtools.pairs.labels import ring
from dialtools.pairs.options import PairOptions
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

TEXTS = st.sampled_from(["where is it", "Where is it", "lost it", "  ", "hi", "bye", ""])
LABELS = st.sampled_from(["card", "greet", 7, 7.0, "7", True, "true", "", None])


def mined(rows: list[dict], folder: Path, **options) -> tuple[list[dict], Tally]:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    chosen = PairOptions(kind="same-label", inputs=(str(path),), **options)
    policy, tally = Policy(), Tally()
    chunks = input_chunks(chosen, policy, tally, prompt=False)
    pieces = [*mine(chunks, chosen, lines=True, policy=policy, tally=tally)]
    return [orjson.loads(line) for p in pieces for line in p.payload.splitlines()], tally


@settings(deadline=None)
@given(rows=st.lists(st.tuples(TEXTS, LABELS), max_size=30))
def test_enough_pairs_a_text_are_every_two_distinct_texts_of_a_label(rows, tmp_path_factory):
    records = [{"text": text, "label": label} for text, label in rows]
    pairs, tally = mined(records, tmp_path_factory.mktemp("labels"), per_text=99)

    texts: dict[str, dict[str, str]] = {}
    for text, label in rows:
        if text.strip() and label not in ("", None):
            texts.setdefault(as_text(label), {}).setdefault(text.casefold(), text)
    expected = {
        (label, frozenset(two))
        for label, said in texts.items()
        for two in combinations(said.values(), 2)
    }
    found = [
        (pair["dialogue_id"], frozenset((*pair["context"], pair["response"]))) for pair in pairs
    ]
    assert set(found) == expected
    assert len(found) == len(expected) == tally.kept
    assert tally.sources == len(rows)
    assert list(dict.fromkeys(label for label, _ in found)) == [
        label for label, said in texts.items() if len(said) > 1
    ]


@given(size=st.integers(0, 40), each=st.integers(1, 25))
def test_in_a_ring_all_places_come_equally_often_and_no_two_of_them_twice(size, each):
    pairs = [*ring(size, each)]
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    assert all(one != other for one, other in pairs)
    often = np.bincount(np.array(pairs, int).reshape(-1), minlength=size)
    assert set(often) <= {min(2 * each, size - 1)}


def test_short_texts_take_no_place_of_a_longer_one(tmp_path):
    """Else the few long texts of a label would have hardly a pair."""
    short = [{"text": f"short{i}", "label": "one"} for i in range(30)]
    long = [{"text": f"long enough {i}", "label": "one"} for i in range(7)]
    pairs, tally = mined([*short, *long], tmp_path, min_words=2, per_text=3)
    assert pairs == mined(long, tmp_path, per_text=3)[0]
    assert len(pairs) == 21 and tally.dropped["short"] == 30


def test_the_seed_draws_the_order_and_samples_are_of_single_pairs(tmp_path):
    rows = [{"text": f"text {i}", "label": "one"} for i in range(100)]
    first, _ = mined(rows, tmp_path, per_text=1)
    assert first == mined(rows, tmp_path, per_text=1, jobs=2)[0]
    assert first != mined(rows, tmp_path, per_text=1, seed=1)[0]
    few, _ = mined(rows, tmp_path, per_text=1, sample=0.5)
    assert 20 < len(few) < 80
    assert all(pair in first for pair in few)


def test_a_split_keeps_labels_together(tmp_path, scripts):
    rows = [{"utterance": f"text {i}", "intent": i % 20} for i in range(100)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    split = ["--split", "a=0.5,b=0.5", "-o", "{split}.jsonl"]
    line = [scripts / "dial-pairs", "--kind", "same-label", *split, "rows.jsonl"]
    done = ended(*line, text=True, cwd=tmp_path)
    assert "200 pairs from 100 records" in done.stderr
    labels = [
        {json.loads(line)["dialogue_id"] for line in (tmp_path / name).read_text().splitlines()}
        for name in ("a.jsonl", "b.jsonl")
    ]
    assert all(labels)
    assert not labels[0] & labels[1]
    assert len(labels[0] | labels[1]) == 20


def test_texts_of_a_blank_label_are_no_pairs(tmp_path):
    rows = [{"text": f"text {i}", "label": label} for i, label in enumerate([" ", " ", "x", "x"])]
    pairs, tally = mined(rows, tmp_path)
    assert [pair["dialogue_id"] for pair in pairs] == ["x"]
    assert tally.dropped["without a text or label"] == 2


def test_texts_of_one_label_are_no_negatives(tmp_path, train, scripts):
    rows = [{"says": f"text {i} of {i % 2}", "means": f"label {i % 2}"} for i in range(10)]
    table = ["says,means", *(f"{row['says']},{row['means']}" for row in rows)]
    (tmp_path / "rows.csv").write_text("\n".join(table))
    line = [scripts / "dial-pairs", "-q", "--kind", "same-label", "--texts", "says,means"]
    pairs = ended(*line, tmp_path / "rows.csv").stdout
    assert len(pairs.splitlines()) == 20
    model = tmp_path / "model"
    train("--method", "same-label", "--max-steps", 1, "--batch-size", 20, "-o", model, stdin=pairs)
    step = json.loads((model / "train-log.jsonl").read_text().splitlines()[0])
    assert step["false_negatives"] == pytest.approx(18 / 38)  # of 38 other rows 18 have the label


def test_labels_of_a_test_split_are_told(tmp_path, scripts):
    rows = [
        {"text": f"text {i}", "label": "x", "split": "train" if i else "test"} for i in range(5)
    ]
    line = [scripts / "dial-pairs", "--kind", "same-label"]
    for some, told in ((rows, "1 text of a split to be tested on"), (rows[1:], "6 pairs")):
        lines = "".join(json.dumps(row) + "\n" for row in some)
        done = ended(*line, input=lines, text=True)
        assert told in done.stderr
        assert ("tested on" in done.stderr) == (some is rows)
        assert "all pairs are of one label" in done.stderr


def test_labels_that_case_or_blanks_alone_tell_apart_are_told(tmp_path, scripts):
    labels = ("Book a flight", "book a  flight", "cancel")
    rows = [{"text": f"text {i}", "label": label} for i, label in enumerate(labels * 2)]
    done = ended(
        *(scripts / "dial-pairs", "--kind", "same-label"),
        input="".join(json.dumps(row) + "\n" for row in rows),
        text=True,
    )
    assert "alone tell classes apart: 'Book a flight' and 'book a  flight'" in done.stderr

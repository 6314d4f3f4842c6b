"""Lists of dial-eval retrieve: whose rows they hold, at their borders, and what is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from score_files import Record, unit, write

from dialtools.errors import ConfigError, DataError
from dialtools.eval.options.retrieve import RetrieveOptions
from dialtools.eval.score import Scored
from dialtools.eval.tasks import retrieve
from dialtools.streams.vectors import Embeddings

ANGLES = np.deg2rad([0, 10, 15, 30, 33])
FAN = np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1)


def scored(folder: Path, rows: list[Record], **options: Any) -> Scored:
    path = write(folder / "r.jsonl", rows, embedding=FAN[: len(rows)])
    return retrieve.evaluate(RetrieveOptions(inputs=(str(path),), **options))


def test_all_rows_are_the_deepest_that_is_looked_at_and_none_is_no_label(tmp_path: Path):
    """A row labelled "None" is not of the kind of one without a label."""
    rows = [{"id": i, "label": label} for i, label in enumerate(["None", "a", "a", None, "a"])]
    asked = {"lists": "nearest", "k": (2, 5, 6), "seed": 3, "name": "n"}
    two, five = scored(tmp_path, rows, **asked).scores
    assert (two.metric, two.each) == ("same-of-2", [0.5, 1, 1, 0.5])
    assert (five.metric, five.each) == ("same-of-5", [0.2, 0.6, 0.6, 0.6])
    alike = (0 + 2 + 2 + 2) / 4 / 4
    assert two.chance == 100 * (1 + alike) / 2 and five.chance == 100 * (1 + 4 * alike) / 5
    for score in (two, five):
        assert type(score.chance) is float, "JSON has no other kind"
        assert (score.task, score.dataset, score.setting) == ("retrieve", "n", "nearest")
        assert (score.n, score.seed, list(score.items)) == (4, 3, ["id", "label"])


def test_a_row_alone_is_near_to_itself_and_what_has_no_label_asks_nothing(tmp_path: Path):
    asked = {"lists": "nearest", "k": (1, 2)}
    (alone,) = scored(tmp_path, [{"label": "a"}], **asked).scores
    assert (alone.metric, alone.value, alone.chance) == ("same-of-1", 100, 100)
    assert alone.dataset == str(tmp_path / "r.jsonl")
    for label, depth, says in ((None, 1, "1 row, 0 of them"), ("a", 2, "1 row, 1 of them")):
        with pytest.raises(DataError, match=f"{says} with a label: none to look at"):
            scored(tmp_path, [{"label": label}], lists="nearest", k=(depth,))


def test_a_query_is_taken_from_its_list_or_else_the_last_is():
    nearest = np.array([[0, 1, 2], [2, 3, 0], [4, 5, 6]])
    others = retrieve.other_rows(nearest, np.array([1, 0, 9]))
    assert others.tolist() == [[0, 2], [2, 3], [4, 5]]


def test_lists_of_several_blocks_have_the_cosines_of_one(monkeypatch: pytest.MonkeyPatch):
    draw = np.random.default_rng(0)
    sizes = np.array([3, 1, 4, 2, 3])
    vectors, candidate = draw.normal(size=(9, 4)), draw.integers(0, 9, sizes.sum())
    queries = np.array([8, 0, 3, 5, 1])
    lists = retrieve.Lists(queries, sizes, candidate, np.zeros(len(candidate), bool))
    expected = (unit(vectors)[np.repeat(queries, sizes)] * unit(vectors)[candidate]).sum(1)
    for block in (1, 2, 3, 5, 9):
        monkeypatch.setattr(retrieve, "BLOCK", block)
        np.testing.assert_allclose(retrieve.similarities(vectors, lists), expected)


def test_bm25_finds_as_many_as_are_wanted_beside_the_copies_of_a_query():
    texts = {"red car": "x", "Red  car": "x", "red CAR": "y", "red bus": "x", "blue car": "y"}
    columns: dict[str, list[Any]] = {"text": list(texts), "label": list(texts.values())}
    part = Embeddings({"embedding": np.zeros((5, 2))}, columns)
    options = RetrieveOptions(inputs=("x",), candidates=3, positives=1)
    lists = retrieve.bm25_lists(part, options)
    ends = np.cumsum(lists.sizes)
    found = {
        query: (
            lists.candidate[end - size : end].tolist(),
            int(lists.positive[end - size : end].sum()),
        )
        for query, size, end in zip(lists.queries.tolist(), lists.sizes, ends, strict=True)
    }
    # the positive ones first, one of them at most
    copies = {0: ([3, 4], 1), 1: ([3, 4], 1), 2: ([4, 3], 1)}
    assert found == {**copies, 3: ([0, 2], 1), 4: ([2, 0, 1], 1)}
    columns["label"][3] = None
    assert retrieve.bm25_lists(part, options).queries.tolist() == [2, 4]


def test_bm25_looks_past_copies_that_are_more_than_the_other_texts():
    texts = ["red car", "Red car", "RED car", "red CAR", "red bus", "red van"]
    part = Embeddings({"embedding": np.zeros((6, 2))}, {"text": texts, "label": list("xxxxxy")})
    lists = retrieve.bm25_lists(part, RetrieveOptions(inputs=("x",), candidates=2))
    assert lists.queries.tolist()[:4] == [0, 1, 2, 3]
    assert lists.candidate.tolist()[:2] == [4, 5] and lists.sizes.tolist()[:4] == [2] * 4


def test_lists_are_given_where_both_columns_are_there_else_made_by_bm25(tmp_path: Path):
    rows = [{"text": text, "label": "ab"[i % 2]} for i, text in enumerate(["x y", "x z", "x w"])]
    made = scored(tmp_path, [row | {"positives": [1]} for row in rows])
    assert [score.setting for score in made.scores] == ["bm25", "bm25"]
    assert list(made.scores[0].items) == ["text", "label"]
    given = scored(tmp_path, [row | {"positives": [1], "negatives": [2]} for row in rows[:3]])
    assert [score.setting for score in given.scores] == ["given", "given"]
    twice = (str(tmp_path / "r.jsonl"),) * 2
    with pytest.raises(ConfigError, match="lists of row numbers are of one file"):
        retrieve.evaluate(RetrieveOptions(inputs=twice))
    with pytest.raises(DataError, match="3 rows: no query has both positives and neg"):
        scored(tmp_path, [row | {"label": "a"} for row in rows])

"""A row without a text, a label or a dialogue is like no other: nulls are not one value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dialtools.cluster.drift import _groups
from dialtools.cluster.rows import Rows
from dialtools.corpora.splits import numbered
from dialtools.errors import DataError
from dialtools.eval.options.entail import EntailOptions
from dialtools.eval.options.retrieve import RetrieveOptions
from dialtools.eval.options.select import SelectOptions
from dialtools.eval.options.space import SpaceOptions
from dialtools.eval.tasks import entail, retrieve, select, space
from dialtools.near.rows import _keys
from dialtools.streams.vectors import Embeddings

DRAW = np.random.default_rng(0)
N = 40


def part(vectors: dict[str, np.ndarray] | None = None, **columns: list[Any]) -> Embeddings:
    own = {"embedding": DRAW.normal(size=(N, 8))} if vectors is None else vectors
    return Embeddings(own, columns, {}, "f.parquet")


def test_values_are_numbered_as_they_come_and_each_null_by_itself():
    assert numbered(["b", None, "a", "b", None, 1, "1"]) == [0, 1, 2, 0, 3, 4, 4]


def test_responses_without_a_text_are_rivals_as_others_are():
    vectors = {name: DRAW.normal(size=(N, 8)) for name in ("context_embedding", "response_e")}
    vectors["response_embedding"] = vectors.pop("response_e")
    texts = [f"text {row}" for row in range(N)]
    for sampling in ("blocks", "random"):
        options = SelectOptions(inputs=("x",), candidates=20, sampling=sampling)
        told = select.among_rows(part(vectors, response=texts), options)
        untold = select.among_rows(part(vectors, response=[None] * N), options)
        np.testing.assert_array_equal(told, untold)


def test_a_pool_has_each_id_once_and_its_nulls_are_no_copies():
    queries = part(
        {"embedding": np.eye(3)}, candidates=[["a", "b", "c"]] * 3, positive=["a", "b", "c"]
    )
    options = SelectOptions(inputs=("x",), pool="p")
    pool = part({"embedding": np.eye(3)[[1, 2, 0]]}, id=["a", "b", "c"], text=[None] * 3)
    assert select.given_lists(queries, pool, options).tolist() == [[1, 1]] * 3
    twice = part({"embedding": np.eye(3)}, id=["a", "b", "a"])
    with pytest.raises(DataError, match="two rows have the id a"):
        select.given_lists(queries, twice, options)


def test_texts_that_are_not_known_keep_their_own_vectors_and_are_positives_of_nothing():
    rows = part(text=[None] * N, label=["a"] * N)
    np.testing.assert_array_equal(retrieve.one_vector_a_text(rows, "text"), rows.matrix)
    texts = [f"alike but {row}" for row in range(N)]
    labels = ["None" if row % 2 else None for row in range(N)]
    lists = retrieve.bm25_lists(
        part(text=texts, label=labels), RetrieveOptions(inputs=("x",), lists="bm25")
    )
    assert len(lists.queries) == N // 2
    assert {labels[row] for row in lists.candidate[lists.positive]} == {"None"}
    assert {labels[row] for row in lists.candidate[~lists.positive]} == {None}


@pytest.mark.parametrize(("labels", "none"), [(["a", "b"], None), ([["a"], ["a", "b"]], [])])
def test_a_space_has_no_class_of_rows_without_a_label(labels: list, none: list | None):
    labels = labels * 10
    matrix = DRAW.normal(size=(N, 8))
    options = SpaceOptions(inputs=("x",))

    def measured(count: int) -> dict[str, float]:
        rows = part({"embedding": matrix[:count]}, label=[*labels, *[none] * N][:count])
        return {score.metric: score.value for score in space._scores(rows, "", options)}

    for metric in ("alignment", "intra-cosine", "inter-cosine", "margin"):
        assert measured(N)[metric] == pytest.approx(measured(20)[metric])


def test_of_rows_of_zeros_all_points_are_one():
    assert space.measures(np.zeros((5, 3)), np.full(5, -1))["uniformity"] == 0


def test_premises_that_are_not_known_are_not_one():
    vectors = {f"text{side}_embedding": DRAW.normal(size=(4, 3)) for side in (1, 2)}
    rows = part(vectors, text1=[None] * 4, label=["entailment", "contradiction"] * 2)
    found = entail.triplets(rows, EntailOptions(inputs=("x",)))
    assert len(found.anchor) == 0 and found.dropped == 4


def test_dialogues_that_are_not_known_are_as_many_as_their_rows():
    def rows(*dialogues: str | None) -> Rows:
        columns = {"dialogue_id": list(dialogues)}
        return Rows(np.eye(len(dialogues), 2), [], columns, {}, "f")

    groups = _groups(rows("a", None, None), rows("a", None, "b", "b"))
    assert groups is not None and sorted(set(groups.tolist())) == list(range(6)), "without gaps"
    assert groups[0] != groups[3], "of two files"


def test_rows_without_a_text_are_distinct():
    keys = _keys(["a", None, None, "a", ["x"]], first=0).tolist()
    assert len(set(keys)) == 4 and keys[0] == keys[3]
    assert keys[1] not in _keys([None, None], first=2).tolist()

"""Two labellings compared: by hand, by their definitions, and as scikit-learn does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow_clusterings

from dialtools.metrics import clusterings
from dialtools.metrics.clusterings import MEASURES, contingency, one_to_one, silhouette
from dialtools.metrics.space import unit

both = st.integers(1, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


def test_six_rows_by_hand():
    """Clusters aab bcc, labels xxx yyy: four rows are right one for one, five in the majority."""
    table = contingency(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 1, 1, 1]))
    assert table.tolist() == [[2, 0], [1, 1], [0, 2]]
    assert one_to_one(table).tolist() == [0, -1, 1]
    assert MEASURES["accuracy"](table) == pytest.approx(4 / 6)
    assert MEASURES["precision"](table) == pytest.approx(5 / 6)
    assert MEASURES["recall"](table) == pytest.approx(4 / 6)
    assert MEASURES["coverage"](table) == 1


def test_a_label_that_is_no_clusters_commonest_is_not_covered():
    table = contingency(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0]))
    assert MEASURES["coverage"](table) == pytest.approx(3 / 4)


@given(both)
def test_each_measure_is_its_definition(labellings: tuple[list[int], list[int]]):
    clusters, labels = labellings
    table = contingency(np.array(clusters), np.array(labels))
    slow = {
        "nmi": slow_clusterings.nmi,
        "ari": slow_clusterings.adjusted_rand,
        "accuracy": slow_clusterings.accuracy,
        "precision": slow_clusterings.precision,
        "recall": slow_clusterings.recall,
        "f1": slow_clusterings.f1,
        "coverage": slow_clusterings.coverage,
    }
    assert slow.keys() == MEASURES.keys()
    for name, measure in MEASURES.items():
        assert measure(table) == pytest.approx(slow[name](clusters, labels), abs=1e-9), name


@given(both)
def test_what_scikit_learn_has_is_the_same_there(labellings: tuple[list[int], list[int]]):
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, v_measure_score

    clusters, labels = map(np.array, labellings)
    table = contingency(clusters, labels)
    assert MEASURES["ari"](table) == pytest.approx(adjusted_rand_score(labels, clusters), abs=1e-9)
    for score in (normalized_mutual_info_score, v_measure_score):
        assert MEASURES["nmi"](table) == pytest.approx(score(labels, clusters), abs=1e-9)


@pytest.mark.parametrize("block", [3, 4096])
def test_a_silhouette_without_pairs_is_that_of_pairs(block: int, monkeypatch: pytest.MonkeyPatch):
    from sklearn.metrics import silhouette_score

    monkeypatch.setattr(clusterings, "BLOCK", block)
    draw = np.random.default_rng(0)
    x = draw.normal(size=(40, 6)) + 0.3
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    clusters = draw.integers(0, 4, 40)
    expected = silhouette_score(x, clusters, metric="cosine")
    assert silhouette(x, clusters) == pytest.approx(expected)
    clusters[:5], clusters[5] = -1, 4  # some in no cluster, one alone in its own
    expected = slow_clusterings.silhouette(x, clusters.tolist())
    assert silhouette(x, clusters) == pytest.approx(expected)
    assert np.isnan(silhouette(x, np.zeros(40, int)))


def test_the_silhouette_of_copies_in_two_clusters_is_0_whatever_their_last_bits_are():
    draw = np.random.default_rng(0)
    x = np.repeat(unit(draw.normal(size=(12, 16))), 6, axis=0)
    x = (x * (1 + draw.integers(-2, 3, x.shape) * 6e-8)).astype(np.float32)
    together = np.repeat(np.arange(12), 6)
    apart = together.copy()
    apart[:3] = 12
    assert silhouette(x, together) == pytest.approx(1, abs=1e-5)
    assert silhouette(x, together) <= 1
    assert silhouette(x, apart) == pytest.approx(11 / 12, abs=1e-5)

"""Areas and false alarms: of the sample, of resamples with weights, and with honest p-values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import evaluation as slow
from sklearn.metrics import average_precision_score

from dialtools.metrics import paired
from dialtools.metrics.detection import MEASURES, Detection, dense_ranks

scores = st.lists(st.integers(-2, 2).map(float), min_size=1, max_size=25)


def slowly(measure: str, scores_N: np.ndarray, positive_N: np.ndarray) -> float:
    positive, negative = scores_N[positive_N].tolist(), scores_N[~positive_N].tolist()
    if measure == "aupr":
        return float(average_precision_score(positive_N, scores_N))
    return {"auroc": slow.auroc, "fpr-at-95-recall": slow.false_positive_rate}[measure](
        positive, negative
    )


@pytest.mark.parametrize("measure", MEASURES)
@given(scores, scores)
def test_a_measure_of_the_sample_is_that_of_the_oracle(
    measure: str, positive: list[float], negative: list[float]
):
    both = np.array(positive + negative)
    truth = np.arange(len(both)) < len(positive)
    found = Detection(measure, [dense_ranks(both)], truth)(np.ones((1, len(both))))
    assert found[0] == pytest.approx(slowly(measure, both, truth))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("levels", [5, 10**6])
def test_weights_repeat_rows_and_rankings_are_averaged(measure: str, levels: int):
    draw = np.random.default_rng(0)
    truth = draw.random(60) < 0.3
    runs = draw.integers(0, levels, (3, 60)) + truth * (levels // 4)
    detection = Detection(measure, [dense_ranks(run) for run in runs], truth)
    rows = [np.arange(60), np.arange(30), *(draw.integers(0, 60, 60) for _ in range(5))]
    weights = np.stack([np.bincount(own, minlength=60) for own in rows]).astype(float)
    expected = [np.mean([slowly(measure, run[own], truth[own]) for run in runs]) for own in rows]
    assert detection(weights) == pytest.approx(expected)


def test_a_kind_of_which_nothing_was_drawn_has_no_value():
    truth = np.array([True, False])
    for measure in MEASURES:
        nothing = Detection(measure, [np.array([0, 1])], np.array([False, False]))
        assert np.isnan(nothing(np.ones((2, 2)))).all(), measure
        found = Detection(measure, [np.array([0, 1])], truth)(np.array([[0.0, 1.0], [0.0, 0.0]]))
        assert np.isnan(found).all(), measure


def test_measures_of_one_ranking_share_its_curves_and_stay_what_they_are_alone():
    draw = np.random.default_rng(1)
    truth = draw.random(50) < 0.4
    runs = [dense_ranks(draw.normal(size=50) + truth) for _ in range(2)]
    every = [Detection(measure, [run], truth) for run in runs for measure in MEASURES]
    together = paired.bootstrap(every, 50, resamples=40, seed=0)
    for row, detection in enumerate(every):
        alone = paired.bootstrap([detection], 50, resamples=40, seed=0)
        np.testing.assert_array_equal(together[row], alone[0])


@pytest.mark.parametrize("measure", MEASURES)
def test_of_two_models_that_are_alike_one_in_twenty_seems_better(measure: str):
    draw, found = np.random.default_rng(2), []
    truth = np.arange(240) < 40
    for _ in range(200):
        shared = truth * 1.5 + draw.normal(size=240) * 0.7
        two = [
            Detection(measure, [dense_ranks(shared + 0.7 * draw.normal(size=240))], truth)
            for _ in range(2)
        ]
        of_one, of_other = paired.bootstrap(two, 240, resamples=400, seed=0)
        found.append(paired.two_sided(of_one - of_other) < 0.05)
    assert 0.005 <= np.mean(found) <= 0.1

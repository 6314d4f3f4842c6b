"""Imbalance and weights against their definitions."""

from __future__ import annotations

from collections import Counter
from math import e, log

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import slow_counts

from dialtools.freq import imbalance as imbalance_module
from dialtools.freq.imbalance import Spectrum, imbalance, top_share, zipf_slope
from dialtools.freq.weights import Weighting

COUNTS = st.lists(st.integers(1, 60), min_size=1, max_size=250)


def spectrum(counts: list[int]) -> Spectrum:
    texts = sorted(Counter(counts).items(), reverse=True)
    return Spectrum(*np.array(texts, np.int64).T)


@settings(max_examples=60, deadline=None)
@given(COUNTS)
@example([*range(1, 331)])  # of as many texts a hundredth is three
def test_the_figures_follow_their_definitions(counts):
    slow = slow_counts.imbalance(Counter({str(i): n for i, n in enumerate(counts)}))
    found = imbalance(spectrum(counts))
    assert found.keys() == slow.keys()
    assert {type(value) for value in found.values()} <= {int, float, type(None)}, "plain numbers"
    for name, value in slow.items():
        assert found[name] == (
            value if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)
        ), name


def test_an_even_corpus_and_a_single_text_are_the_ends_of_the_scales():
    even = imbalance(spectrum([3] * 8))
    assert (even["gini"], even["entropy_bits"], even["zipf_slope"]) == pytest.approx((0, 3, 0))
    single = imbalance(spectrum([7]))
    assert (single["gini"], single["entropy_bits"], single["zipf_slope"]) == (0, 0, None)
    assert single["top_1_percent_share"] == 1
    nothing = imbalance(Spectrum(np.zeros(0, np.int64), np.zeros(0, np.int64)))
    assert nothing["total"] == 0
    assert nothing["gini"] is None


@pytest.mark.parametrize("step", [1, 3, 7, 8, 9])
def test_the_slope_is_the_same_however_many_ranks_are_taken_at_once(
    monkeypatch: pytest.MonkeyPatch, step: int
):
    monkeypatch.setattr(imbalance_module, "RANKS_A_STEP", step)
    counts = [9, 9, 5, 4, 4, 4, 2, 1]
    slope = np.polyfit(np.log(np.arange(1, 9)), np.log(counts), 1)[0]
    assert zipf_slope(spectrum(counts)) == pytest.approx(slope, rel=1e-12)


def test_the_top_is_a_share_of_the_texts_and_one_at_least():
    found = spectrum([9, 5, 5, 4, 4, 4, 2, 1])  # 34
    assert [top_share(found, top) for top in (0.01, 0.25, 0.49, 0.5, 1.0)] == [
        n / 34 for n in (9, 14, 19, 23, 34)
    ]


@settings(deadline=None)
@given(COUNTS)
def test_the_curve_rises_from_nothing_to_all_and_bends_one_way(counts):
    x, y = spectrum(counts).curve()
    assert (x[0], y[0]) == (0, 0)
    assert (x[-1], y[-1]) == pytest.approx((1, 1))
    slopes = np.diff(y) / np.diff(x)
    assert (np.diff(slopes) <= 1e-9).all()  # the most frequent come first


def test_weights_are_those_of_the_paper():
    assert Weighting()(np.array([1, 5371])) == pytest.approx(
        [1, 0.104], abs=5e-4
    )  # WMDC: "yes." in its table 5
    assert Weighting(base=10)(np.array([100])) == pytest.approx(1 / 3)
    assert Weighting(smooth=2)(np.array([1])) == pytest.approx(1 / (log(3) + 1))
    assert Weighting("inverse")(np.array([4])) == Weighting("sqrt")(np.array([16])) == 0.25
    assert Weighting("none")(np.array([1, 9])).tolist() == [1, 1]
    assert Weighting()(np.array([0])) == 1  # never seen: as if seen once
    assert Weighting(smooth=2)(np.array([0])) == Weighting(smooth=2)(np.array([1]))


@settings(deadline=None)
@given(COUNTS, st.sampled_from(["irf", "inverse", "sqrt", "none"]))
def test_mean_one_is_the_mean_over_occurrences(counts, kind):
    found = spectrum(counts)
    weigh = Weighting(kind, e).with_mean_one(found.counts, found.texts)
    assert np.average(weigh(np.array(counts)), weights=counts) == pytest.approx(1)

"""Points of dial-eval plot: which spaces have a map, and how it lies."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sklearn.manifold
from score_files import write

from dialtools.errors import DataError
from dialtools.eval.options.plot import PlotOptions
from dialtools.eval.tasks import map as maps
from dialtools.plots.map import UNLABELLED, colours


def points(folder: Path, vectors: np.ndarray) -> np.ndarray:
    rows = [{"label": str(i)} for i in range(len(vectors))]
    path = write(folder / "f.jsonl", rows, embedding=vectors)
    options = PlotOptions(inputs=(str(path),), method="pca", output="m.png")
    found = maps.evaluate(options)
    assert found.labels == [row["label"] for row in rows] and found.title == str(path)
    return found.points


def test_a_map_has_two_dimensions_three_rows_and_some_spread(tmp_path: Path):
    angles = np.array([0.0, 0.1, 0.3, 1.0])
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    flat = np.column_stack([circle, np.zeros(4)])
    own, wide = points(tmp_path, circle), points(tmp_path, flat)
    np.testing.assert_allclose(np.abs(own), np.abs(wide), atol=1e-6)
    np.testing.assert_allclose(own.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(np.ptp(own[:, 0]), np.linalg.norm(circle[3] - circle[0]), rtol=0.02)
    assert (own[np.abs(own).argmax(0), [0, 1]] > 0).all(), "of each component the largest entry"
    for vectors, says in (
        (circle[:2], "2 rows: a map has three or more"),
        (np.ones((3, 1)), "vectors of one dimension: a map has two"),
        (np.ones((3, 2)), "all rows have the same vector"),
    ):
        with pytest.raises(DataError, match=says):
            points(tmp_path, vectors)


def test_vectors_that_differ_by_a_step_of_their_numbers_have_some_spread():
    step = float(np.finfo(np.float32).eps)
    maps._check_spread(np.array([[0.6, 0.8], [0.6 + step, 0.8]]), "f")
    maps._check_spread(np.array([[0, 0.8], [step, 0.8]]), "f")
    with pytest.raises(DataError, match="all rows have the same vector"):
        maps._check_spread(np.array([[0, 0.8], [step / 2, 0.8]]), "f")


def test_of_each_component_the_largest_entry_is_above_zero_and_one_of_nothing_stays_nothing():
    options = PlotOptions(inputs=("x",), output="m.png", method="pca")
    for seed in range(10):
        own = maps.plane(np.random.default_rng(seed).normal(size=(5, 3)), options)
        assert (own[np.abs(own).argmax(0), [0, 1]] > 0).all()
    line = maps.plane(np.array([[-1.0, 0], [0, 0], [1, 0]]), options)
    np.testing.assert_allclose(np.abs(line), [[1, 0], [0, 0], [1, 0]], atol=1e-12)


def test_rows_without_a_label_are_of_no_class_and_grey(tmp_path: Path):
    labels = ["b", None, "a", None]
    rows = [{"label": label, "n": n} for label, n in zip(labels, (1.0, None, 2.5, 0), strict=True)]
    path = write(tmp_path / "f.jsonl", rows, embedding=np.random.default_rng(0).normal(size=(4, 3)))
    found = maps.evaluate(PlotOptions(inputs=(str(path),), method="pca", output="m.png"))
    assert found.labels == ["b", "", "a", ""]
    shades = colours(found.labels)
    assert list(shades) == ["", "a", "b"], "drawn behind the others"
    assert shades[""] == UNLABELLED and shades["a"] == colours("a")["a"]
    options = {"inputs": (str(path),), "method": "pca", "output": "m.png", "label": "n"}
    assert maps.evaluate(PlotOptions(**options)).labels == ["1", "", "2.5", "0"], "as one types it"


def test_of_more_rows_than_asked_some_are_shown_and_turns_stand_in_one_line(tmp_path: Path):
    rows = [{"label": str(i), "text": ["a", str(i)], "who": i % 2} for i in range(9)]
    rows[8]["text"] = [{"speaker": "user", "text": "a"}, 8]
    path = write(tmp_path / "f.jsonl", rows, embedding=np.random.default_rng(0).normal(size=(9, 3)))
    options = {"inputs": (str(path),), "method": "pca", "output": "m.png", "shape": "who"}
    some = maps.evaluate(PlotOptions(**options, max_rows=4))
    assert len(some.labels) == len(some.points) == 4 and some.labels == sorted(set(some.labels))
    every = maps.evaluate(PlotOptions(**options))
    assert every.texts == [f"a / {i}" for i in range(9)]
    assert every.kinds == list("010101010")
    assert list(every.records())[1] == {
        **{"x": every.points[1, 0], "y": every.points[1, 1], "label": "1", "text": "a / 1"}
    }


def test_neighbours_are_a_third_of_the_others_at_most_and_many_points_go_the_fast_way(
    monkeypatch: pytest.MonkeyPatch,
):
    asked: list[tuple[str, float, int]] = []

    class Fake:
        def __init__(self, *size: int, perplexity: float, random_state: int, **more: Any) -> None:
            assert more == ({"init": "pca"} if size else {}) | {"metric": "cosine"}
            asked.append(("exact" if size else "fast", perplexity, random_state))

        def fit(self, vectors: np.ndarray) -> np.ndarray:
            return vectors[:, :2]

        fit_transform = fit

    monkeypatch.setattr(sklearn.manifold, "TSNE", Fake)
    monkeypatch.setitem(sys.modules, "openTSNE", SimpleNamespace(TSNE=Fake))
    monkeypatch.setattr(maps, "EXACT_LIMIT", 7)
    for rows, perplexity in ((7, 30), (7, 1.5), (8, 1.5), (10, 30)):
        options = PlotOptions(inputs=("x",), output="m.png", perplexity=perplexity, seed=5)
        assert maps.plane(np.ones((rows, 3)), options).tolist() == [[1, 1]] * rows
    assert asked == [("exact", 2, 5), ("exact", 1.5, 5), ("fast", 1.5, 5), ("fast", 3, 5)]

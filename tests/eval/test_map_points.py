"""Points of dial-eval plot: which spaces have a map, and how it lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from score_files import write

from dialtools.errors import DataError
from dialtools.eval.options.plot import PlotOptions
from dialtools.eval.tasks import map as maps


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

"""The layer on frozen embeddings: which point of the grid is taken, and on which rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from score_files import Record, write

from dialtools.errors import DataError
from dialtools.eval import probe
from dialtools.eval.options.infer import InferOptions
from dialtools.eval.rows import Parts
from dialtools.streams.vectors import Embeddings

DRAW = np.random.default_rng(0)
CLASSES = np.arange(60) % 3
VECTORS = (DRAW.normal(size=(60, 4)) + 2 * np.eye(3, 4)[CLASSES]).astype(np.float32)
NAMED = Embeddings(
    {"embedding": np.concatenate([VECTORS, VECTORS[:3]])},
    {"dialogue_id": [str(i // 2) for i in range(63)], "split": ["train"] * 60 + ["test"] * 3},
)


def trained(quality: probe.Quality, **options: Any) -> probe.Probe:
    parts = Parts(*[Embeddings({"embedding": VECTORS})] * 3)
    grid = InferOptions(
        inputs=("x",), lr=(0.01, 0.1), weight_decay=(0.0, 0.1), hidden=(0, 2), **options
    )
    return probe.train(parts, Parts(CLASSES, CLASSES, CLASSES), quality, grid, lambda _: None)


def test_of_equal_points_and_epochs_the_first_is_taken():
    chosen = trained(lambda _truth, _p: 0.5, epochs=5).chosen
    assert chosen == {"hidden": 0, "rate": 0.01, "decay": 0.0, "epochs": 1, "validation": 50}


def test_the_best_is_kept_as_it_was_then():
    scores = iter([0, 1, 2, 3, 4, 5, 9, *[1] * 40])  # the second epoch of the second point
    seen: list[np.ndarray] = []

    def quality(_truth: np.ndarray, p: np.ndarray) -> float:
        seen.append(p)
        return next(scores)

    found = trained(quality, epochs=5)
    assert found.chosen == {"hidden": 0, "rate": 0.01, "decay": 0.1, "epochs": 2, "validation": 900}
    np.testing.assert_array_equal(found(VECTORS), seen[6])


def test_training_ends_when_neither_loss_nor_score_made_progress():
    seen: list[int] = []

    def quality(_truth: np.ndarray, _p: np.ndarray) -> float:
        seen.append(1)
        return 1.0

    parts = Parts(*[Embeddings({"embedding": VECTORS})] * 3)
    lost = np.full(60, -1)  # of classes that training lacks: no loss, so no progress
    options = InferOptions(
        inputs=("x",), lr=(0.01,), weight_decay=(0.0,), hidden=(0,), epochs=50, patience=4
    )
    probe.train(parts, Parts(CLASSES, lost, CLASSES), quality, options, lambda _: None)
    assert len(seen) == 1 + 4


def test_a_decay_means_the_same_for_every_batch():
    """scikit-learn divides the penalty by the rows of a batch."""

    def pull(batch: int) -> float:
        layer = probe._layer(probe.Point(hidden=0, rate=0.1, decay=0.3), batch, seed=0)
        return layer.alpha / layer.batch_size

    assert pull(1) == pull(64) == 0.3


def test_a_batch_of_more_than_there_are_is_all_of_them():
    right = lambda truth, p: (p.argmax(1) == truth).mean()  # noqa: E731
    all_of_them, more, fewer = (
        trained(right, batch_size=n, epochs=3)(VECTORS) for n in (60, 999, 10)
    )
    np.testing.assert_array_equal(all_of_them, more)
    assert not np.array_equal(all_of_them, fewer)


def test_the_layer_sees_vectors_less_the_training_mean_divided_by_one_number():
    found = trained(lambda truth, p: (p.argmax(1) == truth).mean(), epochs=30)
    assert found.mean == pytest.approx(VECTORS.mean(0))
    assert found.scale == pytest.approx((VECTORS - VECTORS.mean(0)).std())
    exact = VECTORS - VECTORS.mean(0, dtype=np.float64)
    scaled = (exact / exact.std()).astype(np.float32)
    assert found(VECTORS) == pytest.approx(found.layer.predict_proba(scaled), rel=1e-6)
    assert (found(VECTORS).argmax(1) == CLASSES).mean() > 0.8


def test_vectors_may_be_as_large_as_32_bits_hold():
    largest = VECTORS * (np.float32(3e38) / np.abs(VECTORS).max())
    scaled = [
        probe.Probe(None, x.mean(0, dtype=np.float64), float(x.std(dtype=np.float64))).scaled(x)
        for x in (VECTORS, largest)
    ]
    np.testing.assert_allclose(*scaled, rtol=1e-5, atol=1e-6)


def test_cross_entropy_by_hand():
    p = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    assert probe.cross_entropy(np.array([0, -1, 1]), p) == pytest.approx(
        -(np.log(0.5) + np.log(0.8)) / 2
    )
    assert probe.cross_entropy(np.array([[1, 0], [1, 0], [1, 1]]), p) == pytest.approx(
        -np.log([0.5, 0.5, 0.9, 0.9, 0.2, 0.8]).mean()
    )
    assert probe.cross_entropy(np.full(3, -1), p) == 0
    sure, least = np.array([[1.0, 0.0]]), pytest.approx(-np.log(1e-7), rel=1e-6)
    assert probe.cross_entropy(np.array([1]), sure) == least
    assert probe.cross_entropy(np.array([[0, 1]]), sure) == least


def test_which_dialogues_are_held_out_depends_on_the_seed_and_none_is_cut_in_two():
    held = {}
    for seed in (0, 1):
        train, validation = probe._held_out(
            NAMED.select(np.arange(60)),
            InferOptions(inputs=("x",), validation_share=0.4, seed=seed),
        )
        held[seed] = set(validation.columns["dialogue_id"])
        assert held[seed].isdisjoint(train.columns["dialogue_id"]) and len(validation) > 0
        assert len(train) + len(validation) == 60
    assert held[0] != held[1]


def epochs_of(
    monkeypatch: pytest.MonkeyPatch, scores: list[float], losses: list[float], patience: int
) -> int:
    """Return how many epochs there were, their scores and losses being these, the last for ever."""
    seen: list[int] = []

    def quality(_truth: np.ndarray, _p: np.ndarray) -> float:
        seen.append(1)
        return scores[min(len(seen), len(scores)) - 1]

    loss = lambda *_: losses[min(len(seen), len(losses)) - 1]  # noqa: E731
    monkeypatch.setattr(probe, "cross_entropy", loss)
    options = InferOptions(
        inputs=("x",), lr=(0.01,), weight_decay=(0.0,), epochs=50, patience=patience
    )
    parts = Parts(*[Embeddings({"embedding": VECTORS})] * 3)
    probe.train(parts, Parts(CLASSES, CLASSES, CLASSES), quality, options, lambda _: None)
    return len(seen)


def test_a_loss_makes_progress_that_is_lower_by_a_thousandth_than_the_lowest(
    monkeypatch: pytest.MonkeyPatch,
):
    # 0.9985 is low enough after 1, 0.998 is not after that, 0.9975 just so
    assert epochs_of(monkeypatch, [1], [1, 0.9985, 0.998, 0.9975], patience=2) == 4 + 2
    assert epochs_of(monkeypatch, [1], [1, 1 * (1 - 1e-3)], patience=2) == 1 + 2
    # the second epoch has a better score and a worse loss: 1 stays the lowest
    assert epochs_of(monkeypatch, [1, 2], [1, 5, 2], patience=2) == 2 + 2


def test_each_point_is_told_and_trained_on_one_thread():
    from threadpoolctl import threadpool_info, threadpool_limits

    told: list[int] = []
    threads: set[int] = set()

    def quality(_truth: np.ndarray, _p: np.ndarray) -> float:
        threads.update(pool["num_threads"] for pool in threadpool_info())
        return 0.5

    parts = Parts(*[Embeddings({"embedding": VECTORS})] * 3)
    options = InferOptions(
        inputs=("x",), lr=(0.01, 0.1), weight_decay=(0.0,), hidden=(0, 2), epochs=1
    )
    with threadpool_limits(2):
        probe.train(parts, Parts(*[CLASSES] * 3), quality, options, told.append)
    assert told == [1] * options.points == [1] * 4
    assert threads == {1}


def test_without_validation_rows_a_share_of_the_training_rows_is_held_out_and_all_are_somewhere(
    tmp_path: Path,
):
    def parts(columns: list[Record], hold_out: float) -> Parts[Embeddings]:
        path = write(tmp_path / "f.jsonl", columns, embedding=np.ones((len(columns), 2)))
        return probe.read_probe_parts(InferOptions(inputs=(str(path),), validation_share=hold_out))

    rows: list[Record] = [{"n": n, "split": "train" if n < 60 else "test"} for n in range(63)]
    found = parts(rows, 0.2)
    train, validation, test = (part.columns["n"] for part in found)
    assert sorted(train + validation) == list(range(60)) and test == [60, 61, 62]
    assert 4 < len(validation) < 25, "about a fifth"
    named = parts([row | {"id": row["n"] // 20} for row in rows], 0.5)
    assert {len(part) % 20 for part in named[:2]} == {0}, "rows of one id stay together"
    for hold_out, says in (
        (0.0, "no validation rows to choose hyper-parameters on"),
        (1e-9, "holds no validation rows"),
        (1 - 1e-9, "holds no train rows"),
    ):
        with pytest.raises(DataError, match=says):
            parts(rows, hold_out)

"""--objective several: pairs that are contrasted and pairs that are matched, in own batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pair_corpus import Train, as_lines, steps
from train_parts import contrast_options, letters_encoder, setting, stored

from dialtools.encoder.encoder import Encoder
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.static import StaticEncoder
from dialtools.errors import DataError
from dialtools.train import gradcache
from dialtools.train.objectives.catalog import MatchingOptions, SeveralOptions
from dialtools.train.objectives.contrast import Contrast
from dialtools.train.objectives.matching import Matching
from dialtools.train.objectives.several import Several

MATCHING = {"aggregation": "mean", "negatives": 0, "context_turns": 3}


def rows(kind: str, count: int, **more: Any) -> list[dict[str, Any]]:
    """Pairs of a kind, each of a dialogue and letters of its own."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [
        {"context": [f"{letters[i]} {kind[0]}"], "response": f"{letters[i + 1]} {letters[i + 2]}"}
        | {"dialogue_id": f"{kind}{i}", "turn": 1, "kind": kind}
        | more
        for i in range(count)
    ]


WINDOWS = rows("consecutive", 6)
ANSWERS = rows("same-answer", 4)
SIDES = rows("consecutive", 4, follow=["x y"])
ALL = [*WINDOWS, *SIDES, *ANSWERS]
MATCHED = np.arange(len(WINDOWS), len(WINDOWS) + len(SIDES))


def options(**changes: Any) -> SeveralOptions:
    return SeveralOptions(**vars(contrast_options(**changes)) | MATCHING, match_temperature=0.1)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return letters_encoder().eval()


@pytest.fixture(scope="module")
def objective(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Several:
    store = stored([ALL], tmp_path_factory.mktemp("several"), encoder)
    return Several(setting(store, encoder, options(batches="by-kind")))


def test_a_batch_holds_pairs_of_one_kind_and_those_with_turns_behind_them_are_one(
    objective: Several,
):
    sampler = objective.sampler(2)
    assert sampler.per_epoch == 3 + 2 + 2
    batches = [set(sampler.batch(step).tolist()) for step in range(sampler.per_epoch)]
    assert set().union(*batches) == set(range(len(ALL)))
    windows, answers = set(range(6)), set(range(10, 14))
    for pairs in batches:
        assert any(pairs <= kind for kind in (windows, set(MATCHED.tolist()), answers))


@pytest.mark.parametrize(("batches", "per_epoch"), [("mixed", 2), ("by-kind", 3)])
def test_batches_says_what_contrasted_pairs_share(batches: str, per_epoch: int, objective: Several):
    """Ten of them, six and four of a kind, beside four that are matched; in batches of ten."""
    some = setting(objective.setting.store, objective.setting.encoder, options(batches=batches))
    assert Several(some).sampler(10).per_epoch == per_epoch


def loss_and_gradients(objective: Any, pairs: np.ndarray, *, cached: bool) -> list[torch.Tensor]:
    encoder, figures = objective.setting.encoder, {}
    encoder.zero_grad()
    batch = objective.collate(pairs, 3)
    value = gradcache.backward(
        objective.encode,
        batch.parts,
        lambda rows: objective.loss(rows, batch, figures),
        seed=0,
        cached=cached,
    )
    return [value, *(p.grad.clone() for p in encoder.parameters() if p.grad is not None)]


@pytest.mark.parametrize("cached", [False, True])
def test_each_batch_is_learnt_from_as_by_the_objective_of_its_pairs_alone(
    cached: bool, objective: Several
):
    own = objective.setting
    matching = MatchingOptions(**MATCHING, temperature=0.1)
    contrast = contrast_options()
    for of, pairs in (
        (Contrast(setting(own.store, own.encoder, contrast)), np.array([0, 2, 5])),
        (Matching(setting(own.store, own.encoder, matching, pairs=MATCHED)), MATCHED[:3]),
    ):
        expected = loss_and_gradients(of, pairs, cached=False)
        found = loss_and_gradients(objective, pairs, cached=cached)
        assert len(found) > 10
        torch.testing.assert_close(found, expected)


def test_both_make_micro_batches_of_the_size_that_processes_agree_on(encoder: Encoder, tmp_path):
    made = Several(setting(stored([ALL], tmp_path, encoder), encoder, options()))
    before = [len(made.collate(pairs, 0).parts) for pairs in (np.arange(3), MATCHED)]
    made.cut(8)
    after = [len(made.collate(pairs, 0).parts) for pairs in (np.arange(3), MATCHED)]
    assert before == [1, 1] and min(after) > 1 and made.setting.max_tokens == 8


@pytest.mark.parametrize(
    ("pairs", "says"),
    [(SIDES, "nothing to contrast: all pairs have turns"), (WINDOWS, "nothing to match: no pairs")],
)
def test_pairs_of_one_sort_alone_are_refused(
    pairs: list[dict[str, Any]], says: str, encoder: Encoder, tmp_path: Path
):
    store = stored([pairs], tmp_path, encoder)
    with pytest.raises(DataError, match=says):
        Several(setting(store, encoder, options()))


def test_files_of_three_kinds_become_a_model_at_the_prompt(train: Train, tmp_path: Path):
    files = []
    for name, pairs in (("w", WINDOWS), ("a", ANSWERS), ("s", SIDES)):
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_bytes(as_lines(pairs))
    few = ("--batch-size", 2, "--max-steps", 7)
    train(
        "--method",
        "turns-and-answers",
        "--encoder",
        "transformer",
        *few,
        *files,
        "-o",
        tmp_path / "model",
    )
    log = steps(tmp_path / "model/train-log.jsonl")
    matched = ["accuracy" in row for row in log]
    assert len(log) == 7 and sum(matched) == 2, "two batches of four pairs that are matched"


def test_a_static_encoder_learns_from_both(train: Train, tmp_path: Path):
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(as_lines(ALL * 3))
    size = ("--vocab-size", 300, "--hidden", 64, "--threads", 1)
    few = ("--method", "turns-and-answers", *size, "--batch-size", 4, "--max-steps", 6)
    train(*few, "-o", tmp_path / "model", path, small=False)
    assert isinstance(load_encoder(str(tmp_path / "model")), StaticEncoder)

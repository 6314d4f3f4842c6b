"""--teacher: an objective learns from pairs, and beside them where texts belong."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from at_work import broken_off, logged
from pair_corpus import Train, as_lines, pair_records, steps, weights
from test_ranks import same
from train_parts import contrast_options, letters_encoder, setting, stored, trainer

from dialtools.streams.chunks import read_chunks
from dialtools.train.objectives.base import Batch, Objective
from dialtools.train.objectives.catalog import DistillOptions, MatchingOptions
from dialtools.train.objectives.contrast import Contrast
from dialtools.train.objectives.distill import Distill
from dialtools.train.objectives.matching import Matching
from dialtools.train.objectives.with_teacher import Told, WithTeacher

TEXTS = ["a", "b c", "z y x", "g", "h i", "j k l m"]
PAIRS = [
    {"context": [f"{first} {second}"], "response": f"{second} {third}", "turn": 1}
    for first, second, third in ["abc", "def", "ghi", "jkl", "mno", "pqr"]
]


def lessons(texts: list[str], dimension: int = 24, seed: int = 3) -> list[dict[str, Any]]:
    """Return vectors of texts such that those of like words lie together."""
    words = sorted({word for text in texts for word in text.split()})
    of_word = dict(
        zip(words, np.random.default_rng(seed).normal(size=(len(words), dimension)), strict=True)
    )
    sums = [np.sum([of_word[word] for word in text.split()], 0) for text in texts]
    return [{"text": t, "embedding": s.tolist()} for t, s in zip(texts, sums, strict=True)]


def both(folder: Path, kind: type[Objective[Any]], options: Any, *, seed: int = 0) -> WithTeacher:
    encoder = letters_encoder()
    said = folder / "said.jsonl"
    said.write_bytes(as_lines(lessons(TEXTS)))
    store = stored([PAIRS], folder, encoder, lessons=read_chunks([str(said)]))
    assert store.lessons.tolist() == [0, 1, 2, 3, 4, 5] and store.counts["pairs"] == 6
    of_pairs = kind(setting(store, encoder, options, pairs=np.arange(6, 12), seed=seed))
    of_texts = Distill(setting(store, encoder, DistillOptions(), pairs=store.lessons, seed=seed))
    return WithTeacher(of_pairs, of_texts, weight=3.0)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Contrast, contrast_options(matryoshka=(32,))),
        (
            Matching,
            MatchingOptions(temperature=0.1, negatives="all", context_turns=2, aggregation="mean"),
        ),
    ],
)
def test_loss_and_gradient_are_those_of_the_pairs_and_so_many_times_the_teachers(
    kind: type[Objective[Any]], options: Any, tmp_path: Path
):
    learns = both(tmp_path, kind, options)
    sampler = learns.sampler(4)
    pairs = sampler.batch(0)
    batch = learns.collate(pairs, 0)
    texts = learns.texts.batch(0)
    assert set(pairs) < set(range(6, 12)) and set(texts) < set(range(6)) and len(texts) == 1

    loss, gradient = learnt_from(learns, batch)
    of_pairs, gradient_of_pairs = learnt_from(learns.pairs, learns.pairs.collate(pairs, 0))
    of_texts, gradient_of_texts = learnt_from(learns.teacher, learns.teacher.collate(texts, 0))
    assert loss == pytest.approx(of_pairs + 3 * of_texts, rel=1e-6)
    assert min(map(torch.Tensor.norm, (gradient_of_pairs, gradient_of_texts))) > 1e-3
    torch.testing.assert_close(
        gradient, gradient_of_pairs + 3 * gradient_of_texts, rtol=1e-4, atol=1e-6
    )
    assert batch.tokens == sum(int(part[1].sum()) for part in batch.parts)
    assert [isinstance(part, Told) for part in batch.parts] == [False, True]


def learnt_from(objective: Objective[Any], batch: Batch) -> tuple[float, torch.Tensor]:
    """Return the loss of a batch, without dropout, and its gradient of all weights."""
    encoder = objective.setting.encoder.eval()
    loss = objective.nested_loss(torch.cat([*map(objective.encode, batch.parts)]), batch, {})
    weights = [*encoder.backbone.parameters()]
    gradients = torch.autograd.grad(loss, weights, materialize_grads=True)
    return loss.item(), torch.cat([gradient.flatten() for gradient in gradients])


def test_every_text_of_the_teachers_comes_before_one_comes_again_in_an_order_of_the_seed(
    tmp_path: Path,
):
    orders = []
    for seed in (0, 1):
        (folder := tmp_path / str(seed)).mkdir()
        learns = both(folder, Contrast, contrast_options(), seed=seed)
        pairs = learns.sampler(8).batch(0)
        batches = [learns.collate(pairs, step).extra.texts.pairs for step in range(3)]
        orders.append(np.concatenate(batches).tolist())
        assert sorted(orders[-1]) == [0, 1, 2, 3, 4, 5]
        assert orders[-1] != (pairs - 6).tolist(), "pairs have an order of their own"
    assert orders[0] != orders[1]


def test_micro_batches_of_both_are_cut_as_the_leading_process_cuts(tmp_path: Path):
    learns = both(tmp_path, Contrast, contrast_options())
    learns.cut(max_tokens=4, packed=False)
    trainer(learns, batch_size=24).agree()  # and all six texts
    parts = learns.collate(np.arange(6, 12), 0).parts
    assert len(parts) > 3 and max(part[0].numel() for part in parts) <= 6


SAID = sorted({row["response"] for row in pair_records(60, windows=(1,))})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pairs.jsonl of made-up dialogues, and seen.jsonl, what a teacher has for their texts."""
    folder = tmp_path_factory.mktemp("teacher")
    rows = pair_records(60, windows=(1,))
    (folder / "pairs.jsonl").write_bytes(as_lines(rows))
    (folder / "seen.jsonl").write_bytes(as_lines(lessons(SAID)))
    return folder


RUN = ("--encoder", "static", "--hidden", 64, "--vocab-size", 300, "--batch-size", 32)
RUN = (*RUN, "--threads", 1, "--max-steps", 120, "--checkpoint-every", 20)


def test_an_encoder_learns_both_and_the_teacher_does_not_count_among_the_pairs(
    files: Path, train: Train, tmp_path: Path
):
    taught = ("--teacher", files / "seen.jsonl")
    train(*RUN, *taught, "-o", tmp_path / "both", files / "pairs.jsonl", small=False)
    train(*RUN, "-o", tmp_path / "pairs", files / "pairs.jsonl", small=False)
    made = json.loads((tmp_path / "both" / "dialtools.json").read_text())
    assert (made["counts"]["pairs"], made["counts"]["lessons"]) == (300, len(SAID))
    assert made["files"]["teacher"]["name"] == str(files / "seen.jsonl")
    card = (tmp_path / "both" / "README.md").read_text()
    assert f"it learnt the vectors of `{files / 'seen.jsonl'}` (weight 5)." in card
    log, alone = (steps(tmp_path / name / "train-log.jsonl") for name in ("both", "pairs"))
    assert log[-1]["cosine"] > log[0]["cosine"] + 0.15
    contrast = log[-1]["loss"] - 5 * (1 - log[-1]["cosine"])
    assert contrast < log[0]["loss"] - 5 * (1 - log[0]["cosine"]) - 0.5
    assert "cosine" not in alone[-1]


def test_what_no_pair_has_is_told_though_the_teachers_texts_have_it(
    files: Path, train: Train, tmp_path: Path
):
    pairs = [{**row, "kind": "consecutive"} for row in pair_records(9, windows=(2,))]
    asks = ("--teacher", files / "seen.jsonl", "--window", 1, "--batches", "by-kind")
    told = train(*RUN, *asks, "-o", tmp_path / "m", stdin=as_lines(pairs), small=False, code=1)
    lines = told.stderr.decode().splitlines()
    assert "dial-train: --window 1: no pair is of that size" in lines
    assert "dial-train: --batches by-kind: all pairs are of one kind" in lines
    assert lines[-2:] == ["dial-train: 0 pairs left to train on", "  there are windows 2"]


def test_kept_broken_off_and_split_among_processes_it_is_the_same(
    files: Path, train: Train, scripts: Path, environment: dict[str, str], tmp_path: Path
):
    run = (*RUN, "--teacher", files / "seen.jsonl", files / "pairs.jsonl")
    train(*run, "-o", tmp_path / "whole", small=False)
    for name in ("kept", "again"):
        train(*run, "--cache", tmp_path / "cache", "-o", tmp_path / name, small=False)
        assert weights(tmp_path / name) == weights(tmp_path / "whole")

    broken = tmp_path / "broken"
    line = [str(scripts / "dial-train"), *map(str, run), "-o", str(broken)]
    broken_off(line, lambda: logged(broken) >= 30, signal.SIGKILL, env=environment)
    train(*run, "-o", broken, "--resume", small=False)
    assert weights(broken) == weights(tmp_path / "whole")

    train(*run, "--nproc", 2, "-o", tmp_path / "two", small=False)
    same(tmp_path / "whole", tmp_path / "two")


def test_another_teacher_is_another_run(files: Path, train: Train, tmp_path: Path):
    cache = ("--cache", tmp_path / "cache", files / "pairs.jsonl", "--overwrite")
    other = tmp_path / "other.jsonl"
    other.write_bytes((files / "seen.jsonl").read_bytes().replace(b"paris", b"lyons"))
    made = set()
    for teacher in ((), ("--teacher", files / "seen.jsonl"), ("--teacher", other)):
        train(*RUN, *teacher, *cache, "-o", tmp_path / "model", small=False)
        made.add(weights(tmp_path / "model"))
    assert len(made) == 3

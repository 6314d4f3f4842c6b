"""Negatives that pairs name: candidates more, in every method that contrasts pairs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow_losses
from pair_corpus import SMALL, Train, as_lines, pair_records, steps, weights
from train_parts import contrast_options, letters_encoder, sequences, setting, stored, trainer

from dialtools.encoder.encoder import Encoder
from dialtools.train import health
from dialtools.train.losses.catalog import LOSSES
from dialtools.train.objectives.base import Batch
from dialtools.train.objectives.catalog import MatchingOptions, SiameseOptions
from dialtools.train.objectives.contrast import Contrast, false_negatives
from dialtools.train.objectives.matching import Matching
from dialtools.train.objectives.siamese import Siamese

RUN = shlex.split("--batch-size 16 --max-steps 6 --lr 1e-3")


def pair(context: str, response: str, *negatives: str, **more: Any) -> dict[str, Any]:
    """A pair of a dialogue of its own."""
    fields = {"context": [context], "response": response, "dialogue_id": context}
    return fields | {"negatives": list(negatives)} | more


ROWS = [
    pair("a", "b", "x", "d"),
    pair("c", "d"),
    pair("e", "f", "x", "b", "y", "x"),
    pair("g", "h", "c"),
]


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "dot"])
@given(st.integers(0, 2**16), st.sampled_from([0.1, 0.3, 2.0]))
def test_named_negatives_are_columns_more_and_a_mask_takes_out_those_it_names(
    name: str, seed: int, temperature: float
):
    """Masks are as asymmetric as they come, and may leave a row no negative at all."""
    draw = np.random.default_rng(seed)
    n, m = 4, int(draw.integers(0, 6))
    rows = draw.normal(size=(2 * n + m, 5))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    anchor, positive, named = np.split(rows, [n, 2 * n])
    out = draw.random((2 * n, 2 * n + m)) < draw.choice([0.0, 0.2, 0.6, 1.0])
    ours = LOSSES[name].load()(
        *map(torch.from_numpy, (anchor, positive)),
        temperature=temperature,
        excluded=torch.from_numpy(out),
        negative_MD=torch.from_numpy(named) if m else None,
    )
    slow = slow_losses.of_pairs(name, anchor, positive, named, temperature, out)
    np.testing.assert_allclose(ours.numpy(), slow, rtol=2e-4, atol=2e-6)


def test_each_named_text_is_one_row_more_unless_the_batch_answers_with_it(
    encoder: Encoder, tmp_path: Path
):
    objective = Contrast(
        setting(stored([ROWS], tmp_path, encoder), encoder, contrast_options(head="window-linear"))
    )
    batch = objective.collate(np.arange(4), step=0)
    texts = [sequences(encoder, batch)[i][6:-6] for i in batch.extra.sequence]
    assert texts == ["a", "c", "e", "g", "b", "d", "f", "h", "x", "y", "c"]
    assert batch.extra.keys[-1] == batch.extra.keys[1]
    assert len(batch.sizes) == 11, "the context c and the negative c are encoded apart"


@pytest.mark.parametrize("masked", [True, False])
def test_a_named_text_is_no_negative_of_a_pair_that_says_it(
    masked: bool, encoder: Encoder, tmp_path: Path
):
    store = stored([ROWS], tmp_path, encoder)
    objective = Contrast(
        setting(store, encoder, contrast_options(loss="info-nce", mask_false_negatives=masked))
    )
    batch = objective.collate(np.arange(4), step=0)
    false = false_negatives(batch, objective.setting)
    assert np.argwhere(false).tolist() == [[1, 10], [5, 10]]  # c names d's own context

    rows = torch.randn(len(batch.place), 64, generator=torch.Generator().manual_seed(0))
    unit = torch.nn.functional.normalize(
        rows[torch.from_numpy(batch.place[batch.extra.sequence])], dim=1
    ).double()
    out = false if masked else np.zeros_like(false)
    slow = slow_losses.of_pairs("info-nce", *np.split(unit.numpy(), [4, 8]), 0.5, out)
    figures: dict[str, float] = {}
    assert objective.loss(rows, batch, figures).item() == pytest.approx(slow.mean(), rel=1e-4)
    assert figures["named_negatives"] == 3 / 4
    assert figures["uniformity"] == pytest.approx(float(health.uniformity(unit[:8])), rel=1e-5)


def test_where_windows_have_heads_a_named_text_goes_through_that_of_its_pair(
    encoder: Encoder, tmp_path: Path
):
    rows = [pair("a", "b", "x"), pair("c", "d", "x", "y"), pair("e", "f", "x", "b")]
    rows[2]["context"] = ["e", "e"]
    options = contrast_options(head="window-linear", batches="mixed")
    objective = Contrast(setting(stored([rows], tmp_path, encoder), encoder, options))
    batch = objective.collate(np.arange(3), step=0)
    assert batch.extra.named_window.tolist() == [1, 1, 2, 2]
    seen: dict[str, Any] = {}

    def spy(anchor: torch.Tensor, positive: torch.Tensor, **given: Any) -> torch.Tensor:
        return (anchor - positive).sum(1) + 0 * seen.setdefault("excluded", given["excluded"]).sum()

    objective.loss_function = spy
    objective.loss(torch.randn(len(batch.place), 64), batch, {})
    window = np.array([1, 1, 2, 1, 1, 2, 1, 1, 2, 2])
    assert (seen["excluded"].numpy() == (window[:6, None] != window)).all()


@pytest.mark.parametrize("kind", ["matching", "siamese"])
def test_what_a_batch_names_is_a_candidate_beside_its_responses(
    kind: str, encoder: Encoder, tmp_path: Path
):
    store = stored([ROWS], tmp_path, encoder)
    more: dict[str, Any] = {"negatives": "all", "context_turns": 1}
    made = (
        Matching(
            setting(store, encoder, MatchingOptions(temperature=1.0, aggregation="mean", **more))
        )
        if kind == "matching"
        else Siamese(setting(store, encoder, SiameseOptions(**more)))
    )
    batch = made.collate(np.arange(4), step=0)
    named = batch.extra[-1]
    texts = sequences(encoder, batch)
    assert sorted(texts[i][6:-6] for i in named) == ["b", "c", "d", "x", "y"]
    plain = made.collate(np.array([1]), step=0)  # names none
    assert len(plain.extra[-1]) == 0
    rows = torch.randn(int(batch.sizes.sum() if kind == "matching" else len(batch.place)), 64)
    alone = (*batch.extra[:-1], named[:0])
    fewer = Batch(batch.parts, batch.place, batch.sizes, batch.pairs, alone)
    assert made.loss(rows, batch, {}) > made.loss(rows, fewer, {}), "more to tell it from"


def test_the_true_response_is_never_its_own_negative(encoder: Encoder, tmp_path: Path):
    rows = [pair("a", "b", "b", "x"), pair("c", "d"), pair("e", "f")]
    store = stored([rows], tmp_path, encoder)
    options = SiameseOptions(negatives=1, context_turns=1)
    batch = Siamese(setting(store, encoder, options)).collate(np.arange(1), step=0)
    texts = sequences(encoder, batch)
    assert [texts[i][6:-6] for i in batch.extra[0][0]] == ["b", "x"]


@pytest.mark.parametrize("loss", ["hard-negative", "info-nce"])
def test_gradient_caching_changes_nothing(loss: str, tmp_path: Path):
    found = []
    for cached in ("on", "off"):
        own = letters_encoder()
        store = stored([ROWS], tmp_path, own)
        options = contrast_options(loss=loss, mask_false_negatives=True)
        run = trainer(Contrast(setting(store, own, options, max_tokens=12)), max_steps=2)
        run.grad_cache = cached
        found.append([step.loss for step in run.steps()])
        found.append([p.detach().clone() for p in own.parameters()])
    assert found[0] == pytest.approx(found[2], rel=1e-6)
    for a, b in zip(found[1], found[3], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.fixture(scope="module")
def naming(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs that name no, one or two responses of others."""
    rows = pair_records(12)
    for i, row in enumerate(rows):
        others = [rows[(7 * i + k) % len(rows)]["response"] for k in range(3, 3 + i % 3)]
        row["negatives"] = [text for text in others if text != row["response"]]
    path = tmp_path_factory.mktemp("naming") / "pairs.jsonl"
    path.write_bytes(as_lines(rows))
    return path


@pytest.mark.parametrize("kind", ["static", "transformer"])
@pytest.mark.parametrize("method", ["dse", "wmdc", "dialoguecse"])
def test_a_run_learns_from_them_whether_its_gradients_are_cached_or_not(
    method: str, kind: str, train: Train, naming: Path, tmp_path: Path
):
    own = ("--method", method, "--encoder", kind, *RUN)
    own += ("--negatives", "all") if method == "dialoguecse" else ()
    if kind == "transformer":
        own += SMALL
    whole, without = tmp_path / "whole", tmp_path / "without"
    train(*own, "-o", whole, naming, small=False)
    train(*own, "--grad-cache", "on", "-o", tmp_path / "cached", naming, small=False)
    bare = tmp_path / "bare.jsonl"
    bare.write_bytes(naming.read_bytes().replace(b'"negatives"', b'"unread"'))
    train(*own, "-o", without, bare, small=False)
    assert weights(whole) != weights(without)
    logs = [steps(tmp_path / name / "train-log.jsonl") for name in ("whole", "cached")]
    assert [s["loss"] for s in logs[0]] == pytest.approx([s["loss"] for s in logs[1]], rel=1e-3)
    if method != "dialoguecse":
        assert any(step.get("named_negatives") for step in logs[0])


@pytest.mark.parametrize("method", ["mlm", "tadse"])
def test_a_method_says_what_it_does_not_read(
    method: str, train: Train, naming: Path, tmp_path: Path
):
    pairs = tmp_path / "pairs.jsonl"
    rows = naming.read_text().replace('"kind"', '"template":"{A} b","weight":0.5,"kind"')
    pairs.write_text(rows)
    said = train("--method", method, *RUN, "-o", tmp_path / "m", pairs).stderr.decode()
    assert f"method {method} reads responses alone: the contexts of " in said
    assert "reads no negatives: those of " in said and "reads no weights: those of " in said


def test_a_dry_run_counts_them(train: Train, naming: Path, tmp_path: Path):
    done = train("--dry-run", *RUN, "-o", tmp_path / "m", naming)
    assert " negatives" in next(
        line for line in done.stdout.decode().splitlines() if "to train on" in line
    )

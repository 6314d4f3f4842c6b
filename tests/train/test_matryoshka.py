"""--matryoshka: the first dimensions of a vector learn to serve alone (Kusupati et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from oracles import slow_losses, slow_matching, slow_template
from pair_corpus import Train, as_lines, weights
from train_parts import contrast_options, letters_encoder, recipe_options, setting, stored, trainer

from dialtools.encoder.encoder import Encoder
from dialtools.metrics.space import unit
from dialtools.train.losses.catalog import LOSSES
from dialtools.train.objectives.base import Batch, Objective
from dialtools.train.objectives.catalog import MatchingOptions, SiameseOptions, TemplateOptions
from dialtools.train.objectives.contrast import Contrast
from dialtools.train.objectives.matching import Matching, Tokens
from dialtools.train.objectives.siamese import Siamese
from dialtools.train.objectives.template import Templates
from dialtools.train.prepare import check_prefixes

LENGTHS = (5, 17)
WHOLE = 64
ROWS = [
    {"context": [f"{a} {b}", b], "response": f"{b} {a} {a}", "dialogue_id": a, "turn": 2}
    for a, b in ("ab", "cd", "ef", "gh")
]
NO_MASK = np.zeros((8, 8), bool)
UTTERANCES = [{"text": f"{a} {b}", "template": f"{a} {{X}}"} for a, b in ("ab", "cd", "ef", "gh")]


def drawn(objective: Objective[Any], numbers: Callable[[Batch], int]) -> tuple[Batch, torch.Tensor]:
    """Return a batch of all pairs, and rows as they might leave the encoder."""
    batch = objective.collate(np.arange(4), step=0)
    draw = torch.Generator().manual_seed(0)
    return batch, torch.randn(numbers(batch), WHOLE, generator=draw) / 4


def by_sequence(batch: Batch, rows: torch.Tensor) -> np.ndarray:
    return rows[torch.from_numpy(batch.place)].double().numpy()


def mean_over_lengths(loss: Callable[[int], Any]) -> float:
    return float(np.mean([np.mean(loss(length)) for length in (*LENGTHS, WHOLE)]))


def test_the_loss_is_the_mean_over_prefixes_and_the_whole(encoder: Encoder, tmp_path: Path):
    """Each scaled to length 1 anew, as its transcription says; raw products as they are."""
    store = stored([ROWS], tmp_path, encoder)
    for name in LOSSES:
        options = contrast_options(loss=name, matryoshka=(*LENGTHS, WHOLE))
        objective = Contrast(setting(store, encoder, options))
        batch, rows = drawn(objective, lambda batch: len(batch.place))
        sides = by_sequence(batch, rows)[batch.extra.sequence]
        scaled = unit if name != "dot" else np.asarray

        def loss(length: int, name=name, sides=sides, scaled=scaled) -> np.ndarray:
            parts = np.split(scaled(sides[:, :length]), [4, 8])
            return slow_losses.of_pairs(name, *parts, 0.5, NO_MASK)

        value = objective.nested_loss(rows, batch, {}).item()
        assert value == pytest.approx(mean_over_lengths(loss), rel=1e-4), name
        assert value != pytest.approx(objective.loss(rows, batch, {}).item(), rel=1e-3)


def test_behind_a_head_a_prefix_meets_the_first_columns_of_its_weights(
    encoder: Encoder, tmp_path: Path
):
    store = stored([ROWS], tmp_path, encoder)
    options = contrast_options(loss="info-nce", head="linear", matryoshka=LENGTHS)
    objective = Contrast(setting(store, encoder, options))
    batch, rows = drawn(objective, lambda batch: len(batch.place))
    sides = by_sequence(batch, rows)[batch.extra.sequence]
    weight, bias = (p.detach().double().numpy() for p in objective.head.parameters())

    def loss(length: int) -> np.ndarray:
        headed = sides[:, :length] @ weight[:, :length].T + bias
        return slow_losses.of_pairs("info-nce", *np.split(unit(headed), [4, 8]), 0.5, NO_MASK)

    value = objective.nested_loss(rows, batch, {}).item()
    assert value == pytest.approx(mean_over_lengths(loss), rel=1e-4)


def test_turns_and_responses_are_matched_by_the_prefixes_of_their_tokens(
    encoder: Encoder, tmp_path: Path
):
    store = stored([ROWS], tmp_path, encoder)
    options = MatchingOptions(
        temperature=0.3, context_turns=2, negatives=2, aggregation="mean", matryoshka=LENGTHS
    )
    objective = Matching(setting(store, encoder, options))
    batch, rows = drawn(objective, lambda batch: int(batch.sizes.sum()))
    tokens = Tokens(rows, batch)

    def loss(length: int) -> float:
        said = [
            tokens.rows[start:][:size, :length].double().numpy()
            for start, size in zip(tokens.starts, tokens.sizes, strict=True)
        ]
        contexts = [[said[i] for i in turns if i >= 0] for turns in batch.extra.turns]
        responses = [[said[i] for i in own] for own in batch.extra.candidates]
        return slow_matching.loss(contexts, responses, 0.3)

    value = objective.nested_loss(rows, batch, {}).item()
    assert value == pytest.approx(mean_over_lengths(loss), rel=1e-4)


def test_templates_are_contrasted_by_prefixes(encoder: Encoder, tmp_path: Path):
    store = stored([UTTERANCES], tmp_path, encoder)
    taus, shares = (0.1, 0.2, 0.3), (1.0, 0.5, 0.7)
    options = TemplateOptions(
        **dict(zip(("temperature", "template_temperature", "pair_temperature"), taus, strict=True)),
        **dict(zip(("utterance_weight", "template_weight", "pair_weight"), shares, strict=True)),
        head="none",
        mask_false_negatives=False,
        pair_negatives="both",
        matryoshka=LENGTHS,
    )
    objective = Templates(setting(store, encoder, options))
    batch, rows = drawn(objective, lambda batch: len(batch.place))
    said = by_sequence(batch, rows)

    def loss(length: int) -> list[float]:
        views = [said[side][:, :length] for side in batch.extra[:4]]
        return slow_template.losses(*views, taus=taus, lambdas=shares, negatives="both")

    value = objective.nested_loss(rows, batch, {}).item()
    assert value == pytest.approx(mean_over_lengths(loss), rel=1e-4)


def test_a_siamese_net_scores_prefixes(encoder: Encoder, tmp_path: Path):
    store = stored([ROWS], tmp_path, encoder)
    options = SiameseOptions(negatives=2, context_turns=1, matryoshka=LENGTHS)
    objective = Siamese(setting(store, encoder, options))
    batch, rows = drawn(objective, lambda batch: len(batch.place))
    said = by_sequence(batch, rows)
    weight, bias, out, last = (p.detach().double().numpy() for p in objective.score.parameters())

    def loss(length: int) -> list[float]:
        columns = np.concatenate([np.arange(length) + WHOLE * part for part in range(3)])
        found = []
        for u, own in zip(said[:4, :length], batch.extra[0], strict=True):
            each = [np.concatenate([u, v, abs(u - v)]) for v in said[own][:, :length]]
            hidden = np.maximum(np.stack(each) @ weight[:, columns].T + bias, 0)
            logits = hidden @ out[0] + last
            found.append(np.log(np.exp(logits).sum()) - logits[0])
        return found

    value = objective.nested_loss(rows, batch, {}).item()
    assert value == pytest.approx(mean_over_lengths(loss), rel=1e-4)


def test_encoding_twice_to_save_memory_gives_the_same_gradients(tmp_path: Path):
    ends = []
    for how in ("off", "on"):
        (tmp_path / how).mkdir()
        encoder = letters_encoder()
        options = contrast_options(head="linear", matryoshka=LENGTHS)
        store = stored([ROWS], tmp_path / how, encoder)
        run = trainer(Contrast(setting(store, encoder, options, max_tokens=12)), max_steps=1)
        run.grad_cache = how
        (step,) = run.steps()
        learns = (*encoder.parameters(), *run.objective.parameters())
        ends.append((step.loss, [p.grad for p in learns if p.grad is not None]))
    (kept, plain), (again, cached) = ends
    assert kept == pytest.approx(again, rel=1e-6) and len(plain) > 10
    for a, b in zip(plain, cached, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_a_prefix_no_shorter_than_the_vector_changes_nothing(encoder: Encoder, tmp_path: Path):
    store = stored([ROWS], tmp_path, encoder)
    for lengths in ((), (WHOLE,)):
        objective = Contrast(setting(store, encoder, contrast_options(matryoshka=lengths)))
        batch, rows = drawn(objective, lambda batch: len(batch.place))
        told, alone = {}, {}
        nested = objective.nested_loss(rows, batch, told)
        assert torch.equal(nested, objective.loss(rows, batch, alone)) and told == alone


@pytest.mark.parametrize("method", ["dse", "wmdc", "dialoguecse", "siamese-m", "tadse"])
def test_a_model_tells_which_prefixes_serve_and_is_made_again_from_its_config(
    method: str, train: Train, pairs: Path, tmp_path: Path
):
    stdin = as_lines(UTTERANCES * 3) if method == "tadse" else pairs.read_bytes()
    run = ("--method", method, "--batch-size", 8, "--max-steps", 3, "--matryoshka", "32,16")
    few = ("--negatives", 3) if method in ("dialoguecse", "siamese-m") else ()
    train(*run, *few, "-o", tmp_path / "model", stdin=stdin)
    card = (tmp_path / "model" / "README.md").read_text()
    assert "The first 16 or 32 of them were trained to serve alone: " in card
    config = tmp_path / "model" / "dialtools.toml"
    assert "\nmatryoshka = [32, 16]  # flag\n" in config.read_text()
    train("--config", config, "-o", tmp_path / "again", stdin=stdin, small=False)
    assert weights(tmp_path / "again") == weights(tmp_path / "model")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--matryoshka", "32,65"), b"--matryoshka 65: vectors have 64 dimensions"),
        (("--matryoshka", "32", "--method", "mlm"), b"--matryoshka belongs to --objective contr"),
        (("--matryoshka", "0"), b"--matryoshka"),
    ],
)
def test_what_no_prefix_is_is_a_usage_error(
    flags: tuple[str, ...], says: bytes, train: Train, pairs: Path, tmp_path: Path
):
    assert says in train(*flags, "-o", tmp_path / "model", pairs, code=2).stderr
    assert not (tmp_path / "model").exists()


def test_a_table_made_of_a_transformer_is_no_wider_than_either(encoder: Encoder):
    for kind, longest in (("transformer", 64), ("static", 64)):
        options = recipe_options(model="m", encoder=kind, matryoshka=(longest,))
        check_prefixes(encoder, options)
        with pytest.raises(Exception, match="vectors have 64"):
            check_prefixes(encoder, recipe_options(model="m", encoder=kind, matryoshka=(65,)))

"""Pairs that are similar or not, hard negatives of NLI, and words hidden beside a contrast."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from at_work import ended
from oracles import slow_losses
from pair_corpus import Train, as_lines, steps
from safetensors.torch import load_file
from train_parts import (
    contrast_options,
    letters_encoder,
    sequences,
    setting,
    stored,
    trainer,
)

from dialtools.encoder.encoder import Encoder
from dialtools.encoder.kept_head import load_head
from dialtools.errors import DataError
from dialtools.train.objectives.base import Batch
from dialtools.train.objectives.catalog import JointOptions
from dialtools.train.objectives.contrast import Contrast
from dialtools.train.objectives.joint import Joint
from dialtools.train.objectives.negatives import Negatives


def pair(context: str, response: str, **more: Any) -> dict[str, Any]:
    return {"context": context.split(" | "), "response": response, "dialogue_id": context} | more


FLAGGED = [
    pair("a", "b", similar=1),
    pair("a", "c", similar=0),
    pair("d", "e"),
    pair("f", "g", similar=False),
]


@pytest.mark.parametrize("classify", [0.0, 0.7])
def test_pairs_that_are_not_similar_are_negatives_and_what_pairsupcon_tells_apart(
    classify: float, encoder: Encoder, tmp_path: Path
):
    """PairSupCon: DSE's loss over similar pairs alone, and -log softmax(W [u; v; |u - v|])."""
    store = stored([FLAGGED], tmp_path, encoder)
    assert store.similar.tolist() == [1, 0, 1, 0]
    options = contrast_options(loss="hard-negative", classify_weight=classify)
    objective = Contrast(setting(store, encoder, options))
    batch = objective.collate(np.arange(4), step=0)
    vectors = torch.randn(len(batch.place), 64, generator=torch.Generator().manual_seed(0))
    rows = vectors[torch.from_numpy(batch.place[batch.extra.sequence])].double()
    unit = (rows / rows.norm(dim=1, keepdim=True)).numpy()
    both = slow_losses.hard_negative(unit, 0.5)
    expected = np.mean([(both[i] + both[i + 4]) / 2 for i in (0, 2)])
    figures: dict[str, float] = {}
    if classify:
        assert objective.classifier is not None
        weight = objective.classifier.weight.detach().double().numpy()  # type: ignore[union-attr]
        assert weight.shape == (2, 3 * 64) and len(objective.classifier.state_dict()) == 1
        entropies, right = [], 0
        for u, v, similar in zip(*rows.numpy().reshape(2, 4, 64), (1, 0, 1, 0), strict=True):
            logits = weight @ np.concatenate([u, v, abs(u - v)])
            entropies.append(np.log(np.exp(logits).sum()) - logits[similar])
            right += logits.argmax() == similar
        expected += classify * np.mean(entropies)
    assert objective.loss(vectors, batch, figures).item() == pytest.approx(expected, rel=1e-4)
    assert figures.get("accuracy") == (25 * right if classify else None)


def test_a_batch_without_a_similar_pair_has_no_contrast(encoder: Encoder, tmp_path: Path):
    store = stored([FLAGGED], tmp_path, encoder)
    objective = Contrast(setting(store, encoder, contrast_options()))
    batch = objective.collate(np.array([1, 3]), step=0)
    assert objective.loss(torch.randn(len(batch.place), 64), batch, {}).item() == 0
    alike = stored([[pair("a", "b"), pair("c", "d")]], tmp_path, encoder)
    with pytest.raises(DataError, match="all pairs are similar"):
        Contrast(setting(alike, encoder, contrast_options(classify_weight=1.0)))


# words hidden beside a contrast

TALKS = [
    pair("a b c d e f", "g h"),
    pair("i j | k l m n", "o p"),
    pair("a b c d e f", "q"),
    pair("r s t u v", "g h"),
]
JOINT: dict[str, Any] = {
    **{"loss": "dot", "head": "none", "temperature": 1.0, "mask_false_negatives": False},
    **{"weights": "none", "mask_share": 0.4, "max_masked": 20},
}


def slow_pass(objective: Joint, batch: Batch) -> tuple[list[np.ndarray], list[float]]:
    """Mean vector of each sequence, and -log p of each hidden word, one text at a time."""
    encoder = objective.setting.encoder
    words = encoder.backbone.get_input_embeddings().weight
    vectors: list[np.ndarray] = []
    entropies: list[float] = []
    rows = (row for part in batch.parts for row in zip(*part, strict=True))
    for ids, mask, labels in rows:
        real = mask.bool()
        tokens = encoder.backbone(input_ids=ids[real][None]).last_hidden_state[0]
        vectors.append(tokens.mean(0).double().numpy())
        for place in (labels[real] >= 0).nonzero()[:, 0].tolist():
            odds = objective.words(tokens[place][None], words)[0].double().softmax(0)
            entropies.append(-float(odds[labels[place]].log()))
    return vectors, entropies


def test_a_context_whose_words_are_hidden_picks_its_response_and_tells_the_words(
    encoder: Encoder, tmp_path: Path
):
    """TOD-BERT joint: one pass, raw dot products of N contexts and responses, both losses added."""
    encoder.eval()
    store = stored([TALKS], tmp_path, encoder)
    objective = Joint(setting(store, encoder, JointOptions(**JOINT), max_tokens=24))
    batch = objective.collate(np.arange(4), step=0)
    assert len(batch.parts) > 1
    whole = Contrast(setting(store, encoder, contrast_options())).collate(np.arange(4), step=0)
    before, after = sequences(encoder, whole), sequences(encoder, batch)
    changed = {a for a, b in zip(before, after, strict=True) if a != b}
    assert changed <= {
        "[CLS] a b c d e f [SEP]",
        "[CLS] i j [SEP] k l m n [SEP]",
        "[CLS] r s t u v [SEP]",
    }
    assert len(batch.extra.truth) == 2 + 2 + 2, "each distinct context once, and no response"

    with torch.no_grad():
        vectors, entropies = slow_pass(objective, batch)
        rows = torch.cat([objective.encode(part) for part in batch.parts])
        figures: dict[str, float] = {}
        loss = objective.loss(rows, batch, figures)
    texts = [vectors[batch.place[i]] for i in batch.extra.texts.sequence]
    context, response = np.array(texts[:4]), np.array(texts[4:])
    logits = context @ response.T
    contrast = np.log(np.exp(logits).sum(1)) - logits.diagonal()
    assert loss.item() == pytest.approx(contrast.mean() + np.mean(entropies), rel=1e-4)
    assert figures["words"] == pytest.approx(np.mean(entropies), rel=1e-4)
    again, other = (objective.collate(np.arange(4), step=step) for step in (0, 1))
    assert sequences(encoder, again) == after != sequences(encoder, other)


def test_a_hidden_word_may_be_the_first_of_the_vocabulary(encoder: Encoder, tmp_path: Path):
    objective = Joint(setting(stored([TALKS], tmp_path, encoder), encoder, JointOptions(**JOINT)))
    ids, mask = torch.tensor([[2, 7, 8], [2, 3, 0]]), torch.tensor([[1, 1, 1], [1, 1, 0]])
    labels = torch.tensor([[-1, 0, 9], [-1, -1, -1]])
    encoder.eval()
    with torch.no_grad():
        rows = objective.encode((ids, mask, labels))
        tokens, pooled = encoder.both(ids, mask)
    torch.testing.assert_close(rows, torch.cat([pooled, tokens[0, 1:]]))


def test_gradient_caching_changes_nothing_of_both_losses(tmp_path: Path):
    found = []
    for cached in ("on", "off"):
        own = letters_encoder()
        store = stored([TALKS], tmp_path, own)
        run = trainer(Joint(setting(store, own, JointOptions(**JOINT), max_tokens=24)), max_steps=2)
        run.grad_cache = cached
        found.append(([step.loss for step in run.steps()], [*own.parameters()]))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    for a, b in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


# which responses are drawn


@pytest.mark.parametrize("drawn_from", ["same-role", "any", "other-domain"])
def test_negatives_are_of_the_role_of_any_or_of_another_domain(
    drawn_from: str, encoder: Encoder, tmp_path: Path
):
    letters = "abcdefghijklmnop"
    rows = [
        pair(
            f"{letter} x",
            letter,
            domain="taxi" if i % 4 < 2 else "hotel",
            speakers=["system", "user"] if i % 2 else ["user", "system"],
        )
        for i, letter in enumerate(letters)
    ]
    store = stored([rows], tmp_path, encoder)
    every = np.arange(len(store))
    draw = Negatives(store, every, count=3, seed=0, drawn_from=drawn_from)
    response, role, domain = store.response, store.response_role, store.domain
    owner = {int(u): pair for pair, u in enumerate(response)}
    seen = set()
    for step in range(20):
        for own, drawn in zip(every, draw.draw(every, step), strict=True):
            for other in (owner[int(u)] for u in drawn):
                assert other != own
                seen.add((bool(role[other] == role[own]), bool(domain[other] == domain[own])))
    same, both = {True}, {True, False}
    expected = {"same-role": (same, both), "any": (both, both), "other-domain": (same, {False})}
    assert ({r for r, _ in seen}, {d for _, d in seen}) == expected[drawn_from]


def test_the_few_responses_that_serve_are_found_among_many(encoder: Encoder, tmp_path: Path):
    common = [
        pair(f"{a} {b} {c}", "y", domain="taxi")
        for a in "abcdef"
        for b in "gh"
        for c in "klmnopqrstuvwx"
    ]
    rare = [pair(letter, letter, domain="hotel") for letter in "bc"]
    store = stored([common + rare], tmp_path, encoder)
    draw = Negatives(store, np.arange(len(store)), count=2, seed=0, drawn_from="other-domain")
    drawn = draw.draw(np.arange(20), step=0)
    assert {tuple(sorted(row)) for row in drawn.tolist()} == {tuple(store.response[-2:].tolist())}


def test_what_cannot_be_drawn_is_told(encoder: Encoder, tmp_path: Path):
    store = stored([[pair("a", "b", domain="x"), pair("c", "d")]], tmp_path, encoder)
    with pytest.raises(DataError, match="pairs without a domain") as error:
        Negatives(store, np.arange(2), count=1, seed=0, drawn_from="other-domain")
    assert "dial-pairs --domain" in str(error.value.hint)


# runs

RUN = shlex.split("--encoder transformer --hidden 64 --layers 1 --max-steps 2 --batch-size 8")


def test_the_recipes_of_nli_and_of_both_losses_train_from_what_dial_pairs_writes(
    train: Train, tmp_path: Path
):
    """SimCSE's head is the pooler, which the model keeps; others leave contradictions out."""
    told = {}
    for method, rows in (
        ("simcse-sup", [pair(f"p {i}", f"e {i}", negatives=[f"c {i}"]) for i in range(8)]),
        ("pairsupcon", [pair(f"p {i}", f"e {i}", similar=i % 2) for i in range(8)]),
        ("todbert-joint", [pair(f"p {i} | q r s", f"e {i}") for i in range(8)]),
        ("siamese-s", [pair(f"p {i}", f"e {i}", similar=i % 2) for i in range(8)]),
    ):
        more = ("--negatives", 2) if method == "siamese-s" else ()
        run = train(
            "--method",
            method,
            *RUN,
            *more,
            "-o",
            tmp_path / method,
            stdin=as_lines(rows),
            small=False,
        )
        told[method] = run.stderr.decode()
        (first, _) = steps(tmp_path / method / "train-log.jsonl")
        assert np.isfinite(first["loss"])
        facts = json.loads((tmp_path / method / "dialtools.json").read_text())
        assert facts["pooling"] == {"simcse-sup": "cls-pooler", "todbert-joint": "cls"}.get(
            method, "mean"
        )
        if method != "siamese-s":
            assert {
                "simcse-sup": "named_negatives",
                "pairsupcon": "accuracy",
                "todbert-joint": "words",
            }[method] in first
    assert "learns from pairs that are similar: 4 pairs left out" in told["siamese-s"]
    assert (tmp_path / "simcse-sup/2_Dense/model.safetensors").is_file()


# heads


@pytest.mark.parametrize("head", ["mlp", "tanh", "window-linear"])
def test_a_head_that_is_kept_is_what_the_loss_saw(head: str, encoder: Encoder, tmp_path: Path):
    rows = [pair("a", "b"), pair("c", "d"), pair("a | c", "e"), pair("b | d", "f")]
    store = stored([rows], tmp_path, encoder)
    for keep in (False, True):
        options = contrast_options(head=head, keep_head=keep, batches="by-window")
        objective = Contrast(setting(store, encoder, options))
        objective.save(tmp_path)
        assert (tmp_path / "head.safetensors").exists() is keep
    vectors = torch.randn(3, 64)
    for window, name in ((1, "1"), (2, "2")) if head == "window-linear" else ((1, "shared"),):
        expected = objective.head(vectors, torch.full((3,), window))
        torch.testing.assert_close(load_head(tmp_path, name)(vectors), expected)


def test_vectors_go_through_the_head_that_is_kept(train: Train, tmp_path: Path, scripts: Path):
    rows = [pair(f"p {i}", f"e {i}") for i in range(8)]
    flags = shlex.split(
        "--method dse --head mlp --keep-head --encoder static --no-center --max-steps 2 -o"
    )
    train(*flags, tmp_path / "m", stdin=as_lines(rows), small=False)
    (tmp_path / "t.jsonl").write_text('{"text": "p 3 e 4"}\n')
    found = {}
    for name, more in (("bare", []), ("headed", ["--head", "shared"])):
        command = [scripts / "dial-embed", "-q", "--no-normalize", "--model", tmp_path / "m", *more]
        run = ended(*command, "--to", "jsonl", tmp_path / "t.jsonl")
        found[name] = np.array(json.loads(run.stdout)["embedding"])
    tensors = load_file(tmp_path / "m/head.safetensors")
    first, last = (tensors[f"shared.{i}.weight"].numpy() for i in (0, 2))
    expected = last @ np.maximum(first @ found["bare"], 0)
    assert found["headed"].shape == (128,)
    np.testing.assert_allclose(found["headed"], expected, rtol=1e-4, atol=1e-6)

"""Domain adaptation by masked words, and the siamese baselines."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pair_corpus import Train, as_lines, pair_records, steps

from dialtools.train.objectives.mlm import MaskedWords, WordHead, hide, pretrained_head
from dialtools.train.objectives.siamese import Siamese

SPECIAL = [0, 1, 2, 3]


def test_a_share_of_the_words_is_hidden_80_10_10_and_ten_at_most():
    draw = np.random.default_rng(0)
    sequence = np.array([1, *range(10, 50), 2])
    kinds = {"mask": 0, "kept": 0, "other": 0}
    for _ in range(2000):
        hidden, places = hide(
            sequence, draw, share=0.15, most=10, special=SPECIAL, mask=3, words=10_000
        )
        assert (
            len(places) == 6 and len(set(places)) == 6 and not {0, len(sequence) - 1} & set(places)
        )
        untouched = np.setdiff1d(np.arange(len(sequence)), places)
        assert (hidden[untouched] == sequence[untouched]).all()
        for place in places:
            kinds[
                "mask"
                if hidden[place] == 3
                else "kept"
                if hidden[place] == sequence[place]
                else "other"
            ] += 1
    shares = {kind: count / 12_000 for kind, count in kinds.items()}
    assert shares["mask"] == pytest.approx(0.8, abs=0.015) and shares["kept"] == pytest.approx(
        0.1, abs=0.012
    )
    long = np.array([1, *range(10, 210), 2])
    assert len(hide(long, draw, share=0.15, most=10, special=SPECIAL, mask=3, words=99)[1]) == 10
    assert (
        len(
            hide(np.array([1, 7, 2]), draw, share=0.15, most=10, special=SPECIAL, mask=3, words=99)[
                1
            ]
        )
        == 1
    )


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_the_head_of_a_checkpoint_is_taken_over(kind: str, tmp_path: Path):
    """The same logits as transformers' masked language model."""
    from transformers import BertConfig, BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

    shape = {
        "vocab_size": 50,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 20,
    }
    model = (
        BertForMaskedLM(BertConfig(**shape))
        if kind == "bert"
        else RobertaForMaskedLM(RobertaConfig(**shape))
    ).eval()
    for name, value in model.named_parameters():
        if name.endswith(("predictions.bias", "lm_head.bias")):
            torch.nn.init.normal_(value)
    model.save_pretrained(tmp_path)
    words = model.get_input_embeddings()
    head = WordHead(words, 16)
    assert not head.bias.any(), "every word is as likely at first"
    head.load_state_dict(pretrained_head(str(tmp_path)))
    ids = torch.arange(5, 12)[None]
    with torch.no_grad():
        hidden = model.base_model(input_ids=ids).last_hidden_state
        torch.testing.assert_close(
            head(hidden[0], words.weight), model(input_ids=ids).logits[0], rtol=1e-4, atol=1e-5
        )


def test_the_loss_of_masked_words_counts_hidden_words_alone():
    torch.manual_seed(0)
    words = torch.nn.Embedding(9, 4)
    head = WordHead(words, 4)
    backbone = SimpleNamespace(get_input_embeddings=lambda: words)
    objective = SimpleNamespace(
        head=head,
        tensor=torch.from_numpy,
        setting=SimpleNamespace(encoder=SimpleNamespace(backbone=backbone)),
    )
    rows, truth = torch.randn(3, 4), np.array([5, 1, 7])
    value = MaskedWords.loss(objective, rows, SimpleNamespace(extra=truth), {})
    probabilities = head(rows, words.weight).softmax(1)
    assert value.item() == pytest.approx(
        -np.mean([np.log(probabilities[i, t].item()) for i, t in enumerate(truth)]), rel=1e-5
    )


def test_the_siamese_loss_is_the_cross_entropy_of_a_head_over_u_v_and_their_difference():
    """METHODS 11, 38: [u; v; |u - v|] -> linear -> ReLU -> linear."""
    torch.manual_seed(0)
    score = torch.nn.Sequential(
        torch.nn.Linear(9, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1), torch.nn.Flatten(-2)
    )
    drawn = SimpleNamespace(asked=lambda pairs, candidates, named: (candidates, zeros, None))
    objective = SimpleNamespace(score=score, negatives=drawn, tensor=torch.from_numpy)
    zeros = np.zeros(2, np.int64)
    rows, candidates = torch.randn(5, 3), np.array([[2, 3], [4, 2]])
    place, named = np.array([3, 0, 4, 1, 2]), np.zeros(0, np.int64)
    batch = SimpleNamespace(place=place, pairs=np.arange(2), extra=(candidates, named))
    value = Siamese.loss(objective, rows, batch, {})
    by_sequence = rows[batch.place]
    total = 0.0
    for u, row in zip(by_sequence[:2], candidates, strict=True):
        logits = [
            score(torch.cat([u, by_sequence[i], (u - by_sequence[i]).abs()])[None]).item()
            for i in row
        ]
        total += np.log(np.exp(logits).sum()) - logits[0]
    assert value.item() == pytest.approx(total / 2, rel=1e-5)


def test_masked_words_are_learnt_from_utterances_and_the_model_goes_on_to_be_contrasted(
    train: Train, tmp_path: Path
):
    texts = [{"text": row["response"]} for row in pair_records(60)]
    (tmp_path / "texts.jsonl").write_bytes(as_lines(texts))
    train(
        *shlex.split("--objective mlm --epochs 6 --batch-size 32 -o"),
        tmp_path / "adapted",
        tmp_path / "texts.jsonl",
    )
    log = steps(tmp_path / "adapted" / "train-log.jsonl")
    assert np.mean([row["loss"] for row in log[-10:]]) < 0.7 * log[0]["loss"]
    assert (
        json.loads((tmp_path / "adapted" / "dialtools.json").read_text())["options"]["method"]
        == "mlm"
    )
    train(
        "--method",
        "siamese-s",
        "--model",
        tmp_path / "adapted",
        *shlex.split("--freeze 0 --negatives 2 --max-steps 2 -o"),
        tmp_path / "model",
        stdin=as_lines(pair_records(30, windows=(1,))),
        small=False,
    )


@pytest.mark.parametrize(
    "flags", [("siamese-s", "--negatives", 2), ("siamese-m", "--negatives", "all")]
)
def test_siamese_nets_learn(flags: tuple, train: Train, tmp_path: Path):
    rows = pair_records(80, windows=(2,))
    train(
        "--method",
        *flags,
        *shlex.split("--epochs 6 --batch-size 16 -o"),
        tmp_path / "model",
        stdin=as_lines(rows),
    )
    log = steps(tmp_path / "model" / "train-log.jsonl")
    assert np.mean([row["loss"] for row in log[-10:]]) < 0.9 * np.mean(
        [row["loss"] for row in log[:10]]
    )

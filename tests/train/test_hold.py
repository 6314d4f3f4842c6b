"""--hold-weight: texts of the pairs stay where the start has them, while others are learnt."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from at_work import broken_off, logged
from pair_corpus import Train, as_lines, steps, weights
from test_ranks import same
from train_parts import contrast_options, letters_encoder, setting, stored

from dialtools.train.data.collate import utterances
from dialtools.train.objectives import distill
from dialtools.train.objectives.distill import Held, hold

ROWS = [
    {"context": ["a b", "c"], "response": "d e", "dialogue_id": 1},
    {"context": ["c"], "response": "d e", "dialogue_id": 1},
    {"context": ["x"], "response": "y z", "dialogue_id": 2},
]


def test_what_is_held_are_the_distinct_turns_of_the_pairs_that_are_learnt(tmp_path: Path):
    store = stored([ROWS], tmp_path, letters_encoder())
    said = [
        sorted(" ".join(text) for text in texts_of(store, pairs))
        for pairs in (np.arange(3), np.array([2]), np.array([0, 1]))
    ]
    assert said == [["a b", "c", "d e", "x", "y z"], ["x", "y z"], ["a b", "c", "d e"]]


def texts_of(store, pairs: np.ndarray) -> list[list[str]]:
    tokenizer = letters_encoder().tokenizer
    return [
        tokenizer.convert_ids_to_tokens(store.utterance(int(i)).tolist())
        for i in utterances(store, pairs)
    ]


def test_the_loss_is_one_less_the_cosine_to_where_the_start_has_a_text_less_what_all_share(
    tmp_path: Path,
):
    encoder = letters_encoder().eval()
    store = stored([ROWS], tmp_path, encoder)
    learns = hold(setting(store, encoder, contrast_options()), encoder, reads=100)
    sequences = learns.lessons.texts(np.arange(5))
    with torch.no_grad():
        before = np.stack(
            [encoder(torch.tensor(s[None]), torch.ones(1, len(s)))[0].numpy() for s in sequences]
        )
        encoder.backbone.get_input_embeddings().weight.mul_(torch.linspace(0.5, 2, 64))
        after = np.stack(
            [encoder(torch.tensor(s[None]), torch.ones(1, len(s)))[0].numpy() for s in sequences]
        )
        batch = learns.collate(np.array([3, 0, 4, 1, 2]), 0)
        loss = learns.loss(torch.cat([*map(learns.encode, batch.parts)]), batch, {})
    before /= np.linalg.norm(before, axis=1, keepdims=True)
    target = before - before.mean(0)
    cosines = [
        a @ t / np.linalg.norm(a) / np.linalg.norm(t) for a, t in zip(after, target, strict=True)
    ]
    assert float(loss) == pytest.approx(1 - np.mean(cosines), abs=2e-3)  # float16 keeps so much


def test_of_many_texts_every_second_or_third_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    encoder = letters_encoder()
    rows = [{"context": [f"{a} {b}"], "response": f"{b} {a}"} for a in "abcd" for b in "efgh"]
    store = stored([rows], tmp_path, encoder)
    asked = setting(store, encoder, contrast_options())
    assert len(Held(asked, encoder, count=32)) == 32
    assert len(Held(asked, encoder, count=31)) == len(Held(asked, encoder, count=16)) == 16
    monkeypatch.setattr(distill, "LEAST", 4)
    monkeypatch.setattr(distill, "MOST", 8)
    sizes = [len(hold(asked, encoder, reads=reads).setting.pairs) for reads in (1, 6, 100)]
    assert sizes == [4, 6, 8]


def test_a_table_made_of_a_transformer_is_held_to_the_transformer(
    model: Path, pairs: Path, train: Train, tmp_path: Path
):
    done = train(
        *("--model", model, "--encoder", "static", "--hidden", 64, "--hold-weight", 5, "--dry-run"),
        *("-o", tmp_path / "m", pairs),
        small=False,
    )
    wide = json.loads((model / "config.json").read_text())["hidden_size"]
    plan = next(line for line in done.stdout.decode().splitlines() if line.startswith("teacher"))
    assert f"in {wide} dimensions, of weight 5" in plan


@pytest.mark.parametrize(
    ("method", "row"),
    [
        ("held", {"context": ["so " * 600], "response": "it is"}),
        ("tadse", {"context": ["to {SLOT}"], "response": "to {SLOT}", "template": "to {SLOT}"}),
    ],
)
def test_a_transformer_embeds_what_the_table_made_of_it_reads(
    method: str, row: dict, model: Path, train: Train, tmp_path: Path
):
    """Texts longer than its positions, and slots that are tokens of this run."""
    rows = [row, {"context": ["yes"], "response": "no"}]
    run = ("--model", model, "--encoder", "static", "--method", method, "--hold-weight", 5)
    where = ("--max-length", 1000, "--max-steps", 2, "-o", tmp_path / "m")
    train(*run, *where, stdin=as_lines(rows), small=False)
    assert len(steps(tmp_path / "m" / "train-log.jsonl")) == 2


RUN = ("--method", "dse-123-1", "--batch-size", 16, "--max-steps", 40, "--lr", 1e-3, "--threads", 1)


def test_a_run_that_holds_on_strays_less_and_learns(
    model: Path, pairs: Path, train: Train, tmp_path: Path
):
    run = ("--model", model, *RUN, pairs)
    train(*run, "-o", tmp_path / "free", small=False)
    for weight in (1, 50):
        train(*run, "--hold-weight", weight, "-o", tmp_path / str(weight), small=False)
    card = (tmp_path / "50" / "README.md").read_text()
    assert f"Texts were held where `{model}` has them (weight 50)." in card
    log = {weight: steps(tmp_path / str(weight) / "train-log.jsonl") for weight in (1, 50)}
    assert log[50][-1]["cosine"] > log[1][-1]["cosine"]
    contrast = {
        weight: [row["loss"] - weight * (1 - row["cosine"]) for row in log[weight]]
        for weight in log
    }
    assert contrast[1][-1] < contrast[1][0] and contrast[50][-1] < contrast[50][0]
    assert len({weights(tmp_path / name) for name in ("free", "1", "50")}) == 3


def test_broken_off_kept_and_split_among_processes_it_is_the_same(
    pairs: Path, train: Train, scripts: Path, environment: dict[str, str], tmp_path: Path
):
    table = ("--encoder", "static", "--hidden", 64, "--vocab-size", 300, "--max-steps", 10)
    train(*table, "-o", tmp_path / "start", pairs, small=False)
    start = ("--model", tmp_path / "start")  # which has no dropout, drawn by each process anew
    run = (*start, *RUN, "--hold-weight", 5, "--checkpoint-every", 5, pairs)
    train(*run, "-o", tmp_path / "whole", small=False)
    broken = tmp_path / "broken"
    line = [str(scripts / "dial-train"), *map(str, run), "-o", str(broken)]
    broken_off(line, lambda: logged(broken) >= 10, signal.SIGKILL, env=environment)
    train(*run, "-o", broken, "--resume", small=False)
    assert weights(broken) == weights(tmp_path / "whole")
    train(*run, "--nproc", 2, "-o", tmp_path / "two", small=False)
    same(tmp_path / "whole", tmp_path / "two")

"""A teacher: texts with its vectors in, an encoder that has them where the teacher does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from pair_corpus import Train, as_lines, pair_records, steps, weights
from train_parts import letters_encoder, setting, stored, trainer

from dialtools.encoder.encode import encode
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import embedding_batch
from dialtools.train.data.collate import Joining, Lengths, responses
from dialtools.train.data.taught import Taught
from dialtools.train.objectives.catalog import DistillOptions
from dialtools.train.objectives.distill import Distill, turned

TEXTS = ["a", "b c", "d e f", "g", "h i", "j k l m"]


def taught(dimension: int, *, texts: list[str] = TEXTS, seed: int = 0) -> list[dict[str, Any]]:
    """Return texts with a teacher's vectors, of any length and far from the middle."""
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(len(texts), dimension)) + 1
    return [
        {"text": text, "embedding": row} for text, row in zip(texts, vectors.tolist(), strict=True)
    ]


def objective(folder: Path, rows: list[dict[str, Any]]) -> Distill:
    encoder = letters_encoder()
    store = stored([rows[:4], rows[4:]], folder, encoder, read=Taught())
    return Distill(setting(store, encoder, DistillOptions()))


@pytest.mark.parametrize("dimension", [5, 64, 90])
def test_the_loss_is_one_less_the_mean_cosine_to_the_centred_and_turned_teacher(
    tmp_path: Path, dimension: int
):
    rows = taught(dimension)
    learns = objective(tmp_path, rows)
    encoder, store = learns.setting.encoder.eval(), learns.setting.store
    sequences = responses(store, np.arange(6), Joining(encoder.special, Lengths(40, 40)))
    ours = encode(encoder, sequences, batch_tokens=1000).astype(np.float64)

    unit = [np.array(row["embedding"]) / np.linalg.norm(row["embedding"]) for row in rows]
    centre = np.mean(unit, axis=0)
    turn = turned(np.array(unit) - centre, ours)
    cosines = []
    for vector, own in zip(unit, ours, strict=True):
        target = (vector - centre) @ turn
        cosines.append(target @ own / np.linalg.norm(target) / np.linalg.norm(own))

    batch = learns.collate(np.array([4, 0, 2, 1, 5, 3]), 1)
    with torch.no_grad():
        vectors = torch.cat([learns.encode(part) for part in batch.parts])
        loss = learns.loss(vectors, batch, {})
    assert float(loss) == pytest.approx(1 - np.mean(cosines), abs=1e-3)  # float16 keeps so much


def test_a_turn_undoes_any_rotation_and_keeps_angles():
    draw = np.random.default_rng(1)
    student = draw.normal(size=(40, 6))
    student /= np.linalg.norm(student, axis=1, keepdims=True)
    rotation = np.linalg.qr(draw.normal(size=(6, 6)))[0]
    np.testing.assert_allclose((student @ rotation) @ turned(student @ rotation, student), student)

    few, many = draw.normal(size=(40, 4)), draw.normal(size=(40, 9))
    np.testing.assert_allclose(turned(few, student) @ turned(few, student).T, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(
        turned(many, student).T @ turned(many, student), np.eye(6), atol=1e-9
    )


def test_no_other_turn_brings_a_teacher_nearer():
    draw = np.random.default_rng(2)
    student, teacher = draw.normal(size=(30, 3)), draw.normal(size=(30, 3))
    student /= np.linalg.norm(student, axis=1, keepdims=True)
    best = np.sum((teacher @ turned(teacher, student)) * student)
    for _ in range(200):
        other = np.linalg.qr(draw.normal(size=(3, 3)))[0]
        assert np.sum((teacher @ other) * student) <= best + 1e-9


def test_steps_bring_the_vectors_to_the_teacher(tmp_path: Path):
    learns = objective(tmp_path, taught(5))
    run = trainer(learns, max_steps=60, lr=3e-3, batch_size=6)
    cosines = [float(step.record()["cosine"]) for step in run.steps()]
    assert cosines[0] < 0.7 and cosines[-1] > 0.95


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedding file of what is said in made-up dialogues: texts of like words lie together."""
    texts = sorted({row["response"] for row in pair_records(60)})
    words = sorted({word for text in texts for word in text.split()})
    draw = np.random.default_rng(3)
    of_word = dict(zip(words, draw.normal(size=(len(words), 24)), strict=True))
    rows = [
        {"text": text, "embedding": np.sum([of_word[w] for w in text.split()], 0).tolist()}
        for text in texts
    ]
    path = tmp_path_factory.mktemp("teacher") / "seen.jsonl"
    path.write_bytes(as_lines(rows))
    return path


def test_an_encoder_from_nothing_has_likeness_from_its_teacher_and_parquet_teaches_the_same(
    teacher: Path, train: Train, tmp_path: Path
):
    run = ("--method", "distill", "--encoder", "static", "--hidden", 64, "--batch-size", 32)
    run = (*run, "--vocab-size", 300, "--threads", 1)
    done = train(*run, "-o", tmp_path / "small", teacher, small=False)
    assert b"paired with itself" not in done.stderr
    first, *_, last = steps(tmp_path / "small" / "train-log.jsonl")
    assert last["cosine"] > max(0.9, first["cosine"] + 0.3)

    held = read_embeddings([str(teacher)])
    batch = embedding_batch({"text": held.columns["text"]}, held.vectors)
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "seen.parquet")
    train(*run, "-o", tmp_path / "same", tmp_path / "seen.parquet", small=False)
    assert weights(tmp_path / "same") == weights(tmp_path / "small")

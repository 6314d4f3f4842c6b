"""A teacher: texts with its vectors in, an encoder that has them where the teacher does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from pair_corpus import Train, as_lines, pair_records, steps, weights
from train_parts import letters_encoder, setting, stored, trainer

from dialtools.encoder.encode import encode
from dialtools.errors import DataError
from dialtools.streams.chunks import Chunk
from dialtools.streams.policy import Policy
from dialtools.streams.sinks import writer
from dialtools.streams.vector_files import read_embeddings, vector_chunks
from dialtools.streams.vectors import embedding_batch
from dialtools.train.data.collate import Joining, Lengths, responses
from dialtools.train.data.taught import Taught
from dialtools.train.objectives import distill
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


def test_of_a_large_teacher_all_rows_are_averaged_and_some_throughout_say_how_it_is_turned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(distill, "AT_ONCE", 5)
    monkeypatch.setattr(distill, "SEEN", 2)
    seen: list[np.ndarray] = []
    monkeypatch.setattr(distill, "turned", lambda rows, _: seen.append(rows) or np.eye(64))
    learns = objective(tmp_path, rows := taught(64))
    unit = np.stack([row["embedding"] / np.linalg.norm(row["embedding"]) for row in rows])
    np.testing.assert_allclose(learns.centre.numpy(), unit.mean(0), atol=1e-3)  # of float16
    np.testing.assert_allclose(seen[0], (unit - unit.mean(0))[[0, 3]], atol=1e-3)


def test_of_more_dimensions_than_the_encoder_has_a_turn_keeps_those_in_which_rows_vary_most():
    """Though the encoder be nearer to others, in which its rows hardly differ."""
    teacher = np.random.default_rng(4).normal(size=(90, 8)) * np.tile([5, 1], 4)
    turn = turned(teacher, teacher[:, 1::2])
    np.testing.assert_allclose(np.square(turn).sum(1), np.tile([1, 0], 4), atol=0.02)


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
    longer = student * draw.uniform(0.1, 10, size=(30, 1))
    np.testing.assert_allclose(turned(teacher, longer), turned(teacher, student))
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


@pytest.mark.parametrize("kind", ["npy", "fbin", "parquet"])
def test_what_a_teacher_has_in_any_embedding_file_is_read_alike(tmp_path: Path, kind: str):
    rows = taught(5)
    names = ("text", "embedding")
    texts, vectors = ([row[name] for row in rows] for name in names)
    path = tmp_path / f"seen.{kind}"
    with writer(str(path), format=kind, floats=True) as write:
        write(embedding_batch({"text": texts}, {"embedding": np.array(vectors)}))
    as_read = vector_chunks([str(path)], format=None, policy=Policy())
    learnt = [Taught()(chunk, Policy()) for chunk in as_read]
    (told,) = (Taught()(Chunk("x", 1, "rows", rows), Policy()),)
    assert [pairs.texts[at] for pairs in learnt for at in pairs.response] == texts
    np.testing.assert_allclose(learnt[0].vectors, told.vectors)


BAD = {
    2: {"text": 5, "embedding": [1, 2]},
    3: {"text": "b"},
    4: {"text": "c", "embedding": [1, None]},
    6: {"embedding": [1, 2]},
    7: {"text": "d", "embedding": [1, 2, 3]},
}
"""By the number of its line: no text, no vector or none of numbers, one of another length."""


def test_records_that_cannot_be_used_are_put_aside_one_by_one(tmp_path: Path):
    rows = [BAD.get(n, {"text": "a", "embedding": [1, n]}) for n in range(1, 9)]
    with Policy(f"quarantine={tmp_path}/bad.jsonl") as policy:
        pairs = Taught()(Chunk("x", 1, "rows", rows), policy)
    assert (len(pairs), policy.skipped) == (3, 5)
    np.testing.assert_allclose(pairs.vectors[:, 1] / pairs.vectors[:, 0], [1, 5, 8], rtol=1e-2)
    bad = [orjson.loads(line) for line in (tmp_path / "bad.jsonl").read_bytes().splitlines()]
    assert {row["line"]: orjson.loads(row["raw"]) for row in bad} == BAD
    for row in bad:
        with pytest.raises(DataError):
            Taught()(Chunk("x", 1, "rows", [rows[0], BAD[row["line"]]]), Policy())


def test_rows_of_a_table_that_cannot_be_used_are_skipped_with_their_numbers(tmp_path: Path):
    vectors = pa.array([[1, 0], None, [1, 2], [np.inf, 0]], pa.list_(pa.float32()))
    batch = pa.RecordBatch.from_pydict({"text": ["a", "b", "c", "d"], "embedding": vectors})
    policy = Policy(f"quarantine={tmp_path}/bad.jsonl")
    with policy:
        pairs = Taught()(Chunk("x", 11, "arrow", batch), policy)
    assert [pairs.texts[at] for at in pairs.response] == ["a", "c"]
    bad = [orjson.loads(line) for line in (tmp_path / "bad.jsonl").read_bytes().splitlines()]
    assert [(row["line"], row["error"]) for row in bad] == [
        (12, "column embedding: row 12 is empty"),
        (14, "row 14 is not finite in float32 (3.4e38 at most)"),
    ]


def test_a_run_learns_from_a_matrix_with_its_texts_beside_and_leaves_bad_ones_out(
    teacher: Path, train: Train, tmp_path: Path
):
    held = read_embeddings([str(teacher)])
    path = tmp_path / "seen.npy"
    with writer(str(path), format="npy") as write:
        write(embedding_batch({"text": held.columns["text"]}, held.vectors))
    columns = tmp_path / "seen.npy.columns.jsonl"
    _first, rest = columns.read_bytes().split(b"\n", 1)
    columns.write_bytes(b'{"id": 1}\n' + rest)
    run = ("--method", "distill", "--encoder", "static", "--hidden", 64, "--max-steps", 2)
    run = (*run, "--vocab-size", 300, "--threads", 1, "-o", tmp_path / "m", path)
    assert b"text: expected a string" in train(*run, small=False, code=1).stderr
    done = train(*run, "--on-error", f"quarantine={tmp_path}/bad", small=False, code=3)
    assert b"1 bad record skipped" in done.stderr
    assert orjson.loads((tmp_path / "bad").read_bytes())["line"] == 1

"""Semantic compression (TaDSE eq. 5): the mixture, its templates, the alignment layer."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from at_work import ended

from dialtools.encoder.alignment import alignment_layer, save_alignment
from dialtools.streams.making import making
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import Embeddings

CITIES = ("rome", "oslo", "lima")
FRAMES = ("fly to {}", "a room in {}", "weather {}")
ROWS = [
    {"text": f.format(c), "template": f.format("{SLOT}"), "label": f}
    for f in FRAMES
    for c in CITIES
]


@pytest.fixture(scope="module")
def model(scripts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("model")
    small = shlex.split("--method tadse --vocab-size 300 --hidden 64 --layers 1 --max-steps 1")
    line = [scripts / "dial-train", *small, "-o", home / "m"]
    rows = "".join(json.dumps(row) + "\n" for row in ROWS)
    ended(*line, input=rows.encode())
    return home / "m"


@pytest.fixture
def embed(scripts: Path, tmp_path: Path, model: Path) -> Callable[..., Embeddings]:
    """Embed ROWS with flags; return what was written, or what was said where it fails."""
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    made = iter(range(99))

    def run(*flags: object, code: int = 0, at: Path | None = None) -> Embeddings | str:
        out = tmp_path / f"{next(made)}.parquet"
        words = ("--model", at or model, *map(str, flags), "rows.jsonl", "-o", out)
        done = ended(scripts / "dial-embed", *words, code=code, text=True, cwd=tmp_path)
        return done.stderr if code else read_embeddings([str(out)])

    return run  # type: ignore[return-value]


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def plain(embed: Callable[..., Embeddings]) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of texts and of their own templates."""
    found = embed("--field", "text,template")
    return unit(found.vector("text_embedding")), unit(found.vector("template_embedding"))


def test_the_mixture_by_hand(
    embed: Callable[..., Embeddings], plain: tuple[np.ndarray, np.ndarray]
):
    u, t = plain
    both = embed("--own-templates")
    np.testing.assert_allclose(both.vector("text_embedding"), u, atol=1e-6)
    np.testing.assert_allclose(both.vector("template_embedding"), t, atol=1e-6)
    assert making(both.metadata)["normalize"] is True
    for share in (0, 0.2, 1):
        mixed = embed("--own-templates", "--compress", share)
        np.testing.assert_allclose(mixed.matrix, share * t + (1 - share) * u, atol=1e-6)
        assert making(mixed.metadata)["normalize"] is False  # they are not of length 1
        scaled = embed("--own-templates", "--compress", share, "--normalize")
        np.testing.assert_allclose(scaled.matrix, unit(mixed.matrix), atol=1e-6)
        assert making(scaled.metadata)["normalize"] is True


def test_a_dry_run_of_templates_tells_and_refuses_what_a_run_does(scripts, model, tmp_path):
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    (tmp_path / "bare.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "one.npy.columns.jsonl").write_text("somebody's")

    def dry(flags: str, code: int = 0) -> str:
        line = f"{scripts}/dial-embed --model {model} {flags} --dry-run rows.jsonl"
        done = subprocess.run(line.split(), capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    assert "text_embedding, template_embedding: 64" in dry("-o o.parquet --templates rows.jsonl")
    assert "vectors  embedding: 64" in dry("-o o.parquet --own-templates --compress 0.5")
    assert 'no record has a "template"' in dry("-o o.parquet --templates bare.jsonl", 1)
    assert "no alignment layer" in dry("-o o.parquet --own-templates --align", 2)
    assert "one.npy.columns.jsonl" in dry("-o one.npy", 1)


def test_the_nearest_template_needs_no_annotation(
    embed: Callable[..., Embeddings], plain: tuple[np.ndarray, np.ndarray]
):
    u, t = plain
    known, names = t[::3], [r["template"] for r in ROWS[::3]]
    near = (u @ known.T).argmax(1)
    both = embed("--templates", "rows.jsonl", "--shard-rows", 4)
    again = ("--templates", "rows.jsonl", "--keep", "nearest_template")
    assert "nearest_template is a column that this run makes" in embed(*again, code=2)
    assert both.columns["nearest_template"] == [names[i] for i in near]
    np.testing.assert_allclose(both.vector("template_embedding"), known[near], atol=1e-6)
    two = np.argsort(-(u @ known.T), axis=1, kind="stable")[:, :2]
    mean = embed("--templates", "rows.jsonl", "--nearest-templates", 2)
    np.testing.assert_allclose(
        mean.vector("template_embedding"), unit(known[two].mean(1)), atol=1e-6
    )
    assert "goes with --templates" in embed("--nearest-templates", 2, code=2)
    mixed = embed("--templates", "rows.jsonl", "--compress", 0.5)
    np.testing.assert_allclose(mixed.matrix, (known[near] + u) / 2, atol=1e-6)


def test_the_alignment_layer_is_for_templates_only(
    embed: Callable[..., Embeddings],
    plain: tuple[np.ndarray, np.ndarray],
    model: Path,
    tmp_path: Path,
):
    import shutil

    shutil.copytree(model, tmp_path / "aligned")
    layer = alignment_layer(64, seed=3)
    save_alignment(layer, tmp_path / "aligned")
    raw = embed("--field", "text,template", "--no-normalize").vector("template_embedding")
    with torch.no_grad():
        expected = unit(layer(torch.tensor(raw)).numpy())
    for scaled in ((), ("--normalize",)):  # the layer was trained on vectors of any length
        moved = embed("--own-templates", *scaled, at=tmp_path / "aligned")
        np.testing.assert_allclose(moved.vector("template_embedding"), expected, atol=1e-5)
    np.testing.assert_allclose(moved.vector("text_embedding"), plain[0], atol=1e-6)
    left = embed("--own-templates", "--no-align", at=tmp_path / "aligned")
    np.testing.assert_allclose(left.vector("template_embedding"), plain[1], atol=1e-6)
    assert "vectors of length 1" in embed("--own-templates", "--no-normalize", code=2)
    assert "has no alignment layer" in embed("--own-templates", "--align", code=2)
    short = ("--own-templates", "--dimensions", 8)
    cut = embed(*short, "--no-align", at=tmp_path / "aligned").vector("template_embedding")
    np.testing.assert_allclose(cut, unit(raw[:, :8]), atol=1e-6)
    assert "takes whole vectors" in embed(*short, at=tmp_path / "aligned", code=2)
    alone = embed("--field", "text", "--dimensions", 8, at=tmp_path / "aligned")
    assert alone.matrix.shape == (len(ROWS), 8)  # without templates it has no say


def test_the_alignment_layer_takes_templates_as_it_learnt_them_and_the_centre_goes_off_after_it(
    embed: Callable[..., Embeddings], model: Path, scripts: Path, tmp_path: Path
):
    """A static encoder that --align trains has a centre, which the layer has never seen."""
    centred = tmp_path / "centred"
    ended(scripts / "dialtools", "center", "--model", model, tmp_path / "rows.jsonl", "-o", centred)
    raw = embed("--field", "text,template", "--no-normalize")
    text, template = raw.vector("text_embedding"), raw.vector("template_embedding")
    plain = embed("--field", "text", "--no-normalize", at=centred).matrix
    center = (unit(text) - plain).mean(0)
    layer = alignment_layer(64, seed=3)
    save_alignment(layer, centred)
    with torch.no_grad():
        aligned = unit(unit(layer(torch.tensor(template)).numpy()) - center)
    own = embed("--own-templates", at=centred)
    np.testing.assert_allclose(own.vector("text_embedding"), unit(plain), atol=1e-5)
    np.testing.assert_allclose(own.vector("template_embedding"), aligned, atol=1e-5)
    near = embed("--templates", "rows.jsonl", at=centred)
    np.testing.assert_allclose(near.vector("text_embedding"), unit(plain), atol=1e-5)
    first = (unit(plain) @ aligned.T).argmax(1)
    np.testing.assert_allclose(near.vector("template_embedding"), aligned[first], atol=1e-5)


def test_a_share_of_the_template_is_1_at_most(embed: Callable[..., Embeddings]):
    assert "must be 1 or less" in embed("--own-templates", "--compress", 1.5, code=2)

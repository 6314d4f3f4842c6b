"""Transforms of finished vectors: equations, and dial-embed; word vectors as a model."""

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
from safetensors.numpy import save_file

from dialtools.embed import flow as flow_module
from dialtools.embed import transforms
from dialtools.embed.flow import FittedFlow, Flow, fit_flow
from dialtools.encoder.randomness import seeded
from dialtools.errors import DataError, ModelError
from dialtools.streams.making import making, one_space
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import read_embeddings

Embed = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def skewed() -> np.ndarray:
    """Vectors with a mean, and some directions far wider than others."""
    draw = np.random.default_rng(0)
    return (
        draw.normal(size=(600, 8))
        @ np.diag([9, 4, 2, 1, 1, 0.5, 0.2, 0.1])
        @ draw.normal(size=(8, 8))
        + 3
    ).astype(np.float32)


def fitted(kind: str, vectors: np.ndarray, dimensions: int | None = None) -> np.ndarray:
    parts = np.split(vectors, [100, 101, 400])
    return transforms.fit(kind, parts, dimensions=dimensions, seed=0)(vectors)


def test_whitening_is_that_of_su_et_al(skewed: np.ndarray):
    """Whitening (Su et al. 2021): cov = U S Uᵀ, y = (x - mu) U S^(-1/2), first k columns."""
    white = fitted("whiten", skewed)
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(8), atol=1e-4)
    x = skewed.astype(np.float64)
    u, s, _ = np.linalg.svd(np.cov((x - x.mean(0)).T, bias=True))
    by_hand = (x - x.mean(0)) @ u @ np.diag(s**-0.5)
    np.testing.assert_allclose(np.abs(white), np.abs(by_hand), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fitted("whiten", skewed, 3), white[:, :3])


def test_directions_without_variance_are_not_blown_up(skewed: np.ndarray):
    flat = np.concatenate([skewed, skewed[:, :2]], 1)  # two dimensions twice
    white = fitted("whiten", flat)
    assert np.abs(white[:, -2:]).max() == 0 and np.abs(white).max() < 10


def test_centre_and_all_but_the_top(skewed: np.ndarray):
    np.testing.assert_allclose(fitted("center", skewed).mean(0), 0, atol=1e-4)
    rest = fitted("top", skewed)
    x = skewed.astype(np.float64)
    top = np.linalg.svd(x - x.mean(0), full_matrices=False)[2][0]
    np.testing.assert_allclose(rest @ top, 0, atol=1e-3)
    np.testing.assert_allclose(rest, (x - x.mean(0)) @ (np.eye(8) - np.outer(top, top)), atol=1e-3)


def test_the_top_is_one_direction_in_a_hundred():
    vectors = np.random.default_rng(0).normal(size=(400, 250))
    left = np.linalg.matrix_rank(fitted("top", vectors), tol=1e-2)
    assert left == 250 - 2


def test_of_odd_dimensions_the_larger_half_is_changed():
    """As the files of flows have it that there are."""
    layers = dict(Flow(5).named_parameters())
    assert [layers[f"levels.0.0.coupling.{i}.weight"].shape for i in (0, 4)] == [(32, 2), (3, 32)]


def test_a_file_that_tells_of_no_transform_is_none(tmp_path: Path):
    path = str(tmp_path / "t.safetensors")
    told = ("[]", "{", "[" * 100_000)
    for metadata in (None, {"other": "x"}, *({"dialtools": facts} for facts in told)):
        save_file({"mean": np.zeros(2)}, path, metadata=metadata)
        with pytest.raises(DataError, match="not a fitted transform"):
            transforms.load(path, {})
    with pytest.raises(DataError, match="is a directory"):
        transforms.load(str(tmp_path), {})


@pytest.mark.parametrize("rows", [1, 2, 3, 1000, 100_000])
def test_equal_vectors_cannot_be_fitted_to(rows: int):
    """Of many, rounding leaves a variance that is none."""
    vectors = np.full((rows, 3), np.float32([0.1, -0.7, 1e-3]))
    with pytest.raises(DataError, match=f"{counted(rows, 'vector')}, all equal"):
        transforms.fit("whiten", [vectors], dimensions=None, seed=0)
    with pytest.raises(DataError, match="no vectors to fit to"):
        transforms.fit("whiten", [vectors[:0]], dimensions=None, seed=0)
    with pytest.raises(DataError, match=f"{counted(rows, 'vector')}, all equal"):
        transforms.fit("whiten", [0 * vectors], dimensions=None, seed=0)
    other = [vectors, 2 * vectors[:1]]
    assert transforms.fit("whiten", other, dimensions=None, seed=0).width == 3


def test_how_wide_vectors_spread_does_not_matter(skewed: np.ndarray):
    scaled = skewed.astype(np.float64) / 1000
    np.testing.assert_allclose(fitted("whiten", scaled), fitted("whiten", skewed), atol=2e-3)


def test_a_flow_is_fitted_to_no_more_rows_than_are_held_in_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transforms, "FLOW_ROWS", 5)
    monkeypatch.setattr(flow_module, "fit_flow", lambda rows, seed: rows)
    rows = np.arange(18.0).reshape(9, 2)
    held = transforms.fit("flow", np.split(rows, 3), dimensions=None, seed=0)
    assert np.array_equal(held, rows[:5])


def test_a_saved_flow_is_the_same_flow(skewed: np.ndarray, tmp_path: Path):
    flow = fit_flow(skewed, seed=0)
    path = str(tmp_path / "t.safetensors")
    space = {"weights": "w", "pooling": "mean", "normalize": False}
    transforms.save(path, flow, {"kind": "flow", **space}, overwrite=False)
    again, facts = transforms.load(path, space)
    np.testing.assert_array_equal(again(skewed), flow(skewed))
    assert (facts["kind"], facts["weights"]) == ("flow", "w")
    damaged = {**flow.tensors(), "levels.0.0.order": flow.tensors()["levels.0.0.order"] * 2}
    with pytest.raises(ModelError, match=r"t: levels.0.0.order is no order of dimensions"):
        FittedFlow.of(damaged, "t")


def test_the_likelihood_of_a_flow_is_that_of_its_jacobian():
    torch.manual_seed(0)
    flow = Flow(7).double()
    for parameter in flow.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    x = torch.randn(1, 7, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda row: flow(row[None])[0], x[0])
    gauss = torch.distributions.Normal(0, 1).log_prob(flow(x)).sum()
    bits = -(gauss + jacobian.slogdet().logabsdet) / (np.log(2) * 7)
    assert flow.bits(x).item() == pytest.approx(bits.item(), rel=1e-9)


def test_what_a_flow_is_done_with_first_stands_last():
    """So that vectors of a saved flow fit those of today: a fresh one only reorders."""
    torch.manual_seed(0)
    flow = Flow(8)
    x = torch.arange(8.0)[None]
    parts, done = x, []
    for size, steps in ((4, flow.levels[0]), (2, flow.levels[1]), (2, flow.levels[2])):
        for step in steps:
            parts = parts[:, step.order]
        parts, rest = parts[:, :size], parts[:, size:]
        done.insert(0, rest)
    assert flow(x).tolist() == torch.cat([parts, *done], 1).tolist()


def test_dimensions_that_never_vary_do_no_harm(skewed: np.ndarray):
    constant = np.tile(np.linspace(0.01, 0.02, 8, dtype=np.float32), (len(skewed), 1))
    rows = np.tile(np.concatenate([skewed, constant], 1), (6, 1))
    assert 0.8 < fit_flow(rows, seed=0)(rows).std(0).max() < 2


def test_a_flow_learns_and_makes_directions_alike(skewed: np.ndarray):
    bent = np.concatenate([skewed, np.tanh(skewed)], 1)
    flow = fit_flow(np.tile(bent, (4, 1)), seed=0)
    torch.manual_seed(0)
    start = Flow(16)
    assert flow.flow.bits(torch.from_numpy(bent)) < start.bits(torch.from_numpy(bent)) - 1
    spread = np.linalg.eigvalsh(np.cov(flow(bent).T))
    assert spread[-1] / spread[0] < 0.1 * np.divide(*np.linalg.eigvalsh(np.cov(bent.T))[[-1, 0]])
    again = type(flow).of(flow.tensors())
    np.testing.assert_array_equal(flow(bent), again(bent))


@pytest.mark.parametrize("settling", [100, 1024])
def test_a_flow_is_learnt_in_one_pass_of_clipped_steps_of_adam(
    skewed: np.ndarray, monkeypatch: pytest.MonkeyPatch, settling: int
):
    """BERT-flow's: batches of 64, Adam at 1e-3, after actnorm has settled on some rows."""
    assert flow_module.SETTLING_ROWS == 1024
    monkeypatch.setattr(flow_module, "SETTLING_ROWS", settling)
    with seeded(3):
        flow, rows = Flow(8), torch.from_numpy(skewed)
        order = torch.randperm(600)
        flow(rows[order[:settling]], settle=True)
        adam = torch.optim.Adam(flow.parameters(), 1e-3)
        for start in range(0, 600, 64):
            adam.zero_grad()
            flow.bits(rows[order[start : start + 64]]).backward()
            torch.nn.utils.clip_grad_norm_(flow.parameters(), 1.0)
            adam.step()
    expected = flow(rows).detach().numpy()
    found = fit_flow(skewed, seed=3)
    np.testing.assert_allclose(found(skewed), expected, atol=1e-6)
    assert found.width == 8


def test_a_flow_has_three_levels_of_three_steps_each_of_half_the_dimensions():
    for dimension, sizes in ((9, [9, 4, 2]), (3, [3, 2, 2]), (16, [16, 8, 4])):
        levels = Flow(dimension).levels
        assert [[step.shift.numel() for step in level] for level in levels] == [
            [size] * 3 for size in sizes
        ]


def test_actnorm_settles_on_mean_0_and_variance_1_of_what_varies():
    step = flow_module.Step(4)
    draw = torch.randn(50, 2, generator=torch.Generator().manual_seed(0))
    wide = draw[:, :1] / draw[:, :1].std() * 8 + 3
    x = torch.cat([wide, wide * 0.9e-4, wide * 1.1e-4, torch.full((50, 1), 5.0)], 1)
    step.settle(x)
    deviations = x.std(0)
    expected = [-deviations[0].log(), 0, -deviations[2].log(), 0]
    assert step.log_scale.tolist() == pytest.approx([float(value) for value in expected])
    assert step.shift.tolist() == pytest.approx((-x.mean(0)).tolist())
    step.settle(torch.full((5, 4), 2.0))
    assert step.log_scale.tolist() == [0] * 4 and step.shift.tolist() == [-2] * 4


WORDS = ("the", "card", "lost", "my", "new", "pay", "bill", "when", "does", "it", "arrive", "limit")


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    draw = np.random.default_rng(1)
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in draw.normal(size=6) + 1)}\n" for word in WORDS]
    (tmp_path / "glove.txt").write_text("".join(lines))
    return tmp_path / "glove.txt"


@pytest.fixture
def embed(scripts: Path, tmp_path: Path, glove: Path) -> Embed:
    """Run dial-embed with word vectors on 40 texts."""
    draw = np.random.default_rng(2)
    texts = [" ".join(draw.choice(WORDS, 4)) for _ in range(40)]
    (tmp_path / "texts.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in texts)
    )

    def run(
        *flags: object, code: int = 0, model: Path = glove, data: str = "texts.jsonl"
    ) -> subprocess.CompletedProcess:
        line = [scripts / "dial-embed", "--model", model, *map(str, flags), data]
        return ended(*line, code=code, text=True, cwd=tmp_path)

    return run


def test_a_text_is_the_average_of_its_known_words(embed: Embed, glove: Path, tmp_path: Path):
    table = {
        line.split()[0]: np.array(line.split()[1:], float)
        for line in glove.read_text().splitlines()
    }
    (tmp_path / "some.jsonl").write_text(
        '{"text":"Lost my CARD, unheard"}\n{"text":"nothing known"}\n'
    )
    done = embed("--to", "jsonl", "--tokens", data="some.jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    mean = (table["lost"] + table["my"] + table["card"]) / 3
    np.testing.assert_allclose(rows[0]["embedding"], mean, rtol=1e-6)
    assert rows[1]["embedding"] == [0] * 6 and [row["tokens"] for row in rows] == [5, 2]
    glove.write_text("2 3\na 1 2 3\nb 4 x 6\n")
    assert "line 3: expected a word and 3 numbers" in embed("--to", "jsonl", code=1).stderr


def vectors(path: Path) -> np.ndarray:
    return read_embeddings([str(path)]).matrix


@pytest.mark.parametrize("kind", ["whiten", "flow", "top"])
def test_a_transform_is_fitted_saved_and_applied_again(kind: str, embed: Embed, tmp_path: Path):
    embed("-o", "plain.parquet")
    flags = shlex.split("--save-transform t.safetensors -o fitted.parquet --shard-rows 16")
    embed("--transform", kind, *flags)
    late = embed("--transform", kind, *flags, "--save-transform", "u", "--resume", code=1).stderr
    assert "dial-embed: u: not there, and fitted.parquet is finished" in late
    embed("--transform", "t.safetensors", "-o", "applied.parquet")
    embed("--transform", kind, "--fit-on", "plain.parquet", "-o", "on.parquet")
    plain, fitted, applied, on = (
        vectors(tmp_path / f"{name}.parquet") for name in ("plain", "fitted", "applied", "on")
    )
    np.testing.assert_allclose(applied, fitted, atol=1e-5)
    np.testing.assert_allclose(on, fitted, atol=1e-4)
    assert not np.allclose(plain, fitted, atol=0.1)
    streamed = [
        json.loads(line)["embedding"]
        for line in embed("--transform", "t.safetensors", "--to", "jsonl").stdout.splitlines()
    ]
    np.testing.assert_allclose(streamed, fitted, atol=1e-5)


def test_vectors_are_rounded_to_16_bits_after_a_transform_and_not_before(
    embed: Embed, glove: Path, tmp_path: Path
):
    """Here the third number is the sum of the others: what rounding leaves of that is noise."""
    table_VD = np.random.default_rng(0).normal(50, 1, (200, 2)) @ [[1, 0, 1], [0, 1, 1]]
    lines = [f"w{i} {' '.join(map(str, row))}" for i, row in enumerate(table_VD.tolist())]
    glove.write_text("\n".join(lines))
    (tmp_path / "words.jsonl").write_text("".join(f'{{"text":"w{i}"}}\n' for i in range(200)))
    for dtype in ("float32", "float16"):
        embed("--whiten", "--dtype", dtype, "-o", f"{dtype}.parquet", data="words.jsonl")
    whole, half = (vectors(tmp_path / f"{dtype}.parquet") for dtype in ("float32", "float16"))
    assert not whole[:, 2].any()
    np.testing.assert_allclose(half, whole, atol=2e-3)


def test_vectors_of_two_kinds_of_transform_are_not_compared_though_a_file_holds_one(
    embed: Embed, tmp_path: Path
):
    embed("--transform", "center", "--save-transform", "c.safetensors", "-o", "fitted.parquet")
    embed("--transform", "c.safetensors", "-o", "applied.parquet")
    embed("--whiten", "-o", "white.parquet")
    told = {
        name: read_embeddings([str(tmp_path / f"{name}.parquet")]).metadata
        for name in ("fitted", "applied", "white")
    }
    known = one_space({}, told["applied"], where="applied")
    assert one_space(known, told["fitted"], where="fitted") == known  # may be the same
    with pytest.raises(DataError, match=r"^white: its vectors were transformed otherwise"):
        one_space(known, told["white"], where="white")


def test_vectors_in_a_pipe_tell_their_transform_as_those_in_a_file_do(
    embed: Embed, scripts: Path, glove: Path, tmp_path: Path
):
    embed("--whiten", "--save-transform", "w.safetensors", "-o", "white.parquet")
    line = [scripts / "dial-embed", "--model", glove, "--transform", "w.safetensors"]
    (tmp_path / "others.jsonl").write_text('{"text":"bill card"}\n')
    subprocess.run([*line, "texts.jsonl", "-o", "file.parquet"], cwd=tmp_path, check=True)
    with (tmp_path / "pipe.arrow").open("wb") as pipe:
        subprocess.run([*line, "others.jsonl"], cwd=tmp_path, check=True, stdout=pipe)
    file, pipe = (
        read_embeddings([str(tmp_path / name)]).metadata for name in ("file.parquet", "pipe.arrow")
    )
    assert making(file)["files"] == making(pipe)["files"]
    one_space(one_space({}, file, where="file"), pipe, where="pipe")


def test_whiten_keeps_the_first_dimensions_and_scales_again_where_asked(
    embed: Embed, tmp_path: Path
):
    embed("--whiten", "--dimensions", 3, "--normalize", "-o", "w.parquet")
    found = vectors(tmp_path / "w.parquet")
    assert found.shape == (40, 3)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_a_transform_of_another_model_is_refused(embed: Embed, glove: Path, tmp_path: Path):
    embed("--whiten", "--save-transform", "t.safetensors", "-o", "plain.parquet")
    (tmp_path / "other.txt").write_text(glove.read_text().replace("bill", "bills"))

    def refused(*flags: str, **others: Path) -> str:
        return embed(*flags, "-o", "x.parquet", code=2, **others).stderr

    other = {"model": tmp_path / "other.txt"}
    saved, on = ("--transform", "t.safetensors"), ("--whiten", "--fit-on")
    assert "fitted to vectors of another model" in refused(*saved, **other)
    assert "its vectors are of another model" in refused(*on, "plain.parquet", **other)
    told = "fitted to vectors of any length, unlike these of length 1"
    assert told in refused(*saved, "--normalize")
    embed("-o", "unknown.npy")
    assert "does not tell which model its vectors are of" in refused(*on, "unknown.npy")
    assert "its vectors are transformed already" in refused(*on, "plain.parquet")
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (("--transform", "witen", "-o", "x.parquet"), 2, "did you mean whiten?"),
        (
            ("--transform", "texts.jsonl", "-o", "x.parquet"),
            1,
            "texts.jsonl: not a fitted transform",
        ),
        (("--dimensions", "9999", "-o", "x.parquet"), 2, "--dimensions 9999: vectors have "),
    ],
)
def test_what_makes_no_sense_is_said(flags: tuple, code: int, says: str, embed: Embed):
    assert says in embed(*flags, code=code).stderr


def test_a_flag_takes_back_the_whitening_of_a_configuration(call, tmp_path: Path):
    (tmp_path / "run.toml").write_text("whiten = true\n")
    ask = ("dial-embed --config run.toml", "--model", "m", "--print-config", "-o", "x.parquet")
    assert b'transform = "whiten"' in call(*ask).stdout
    assert b'transform = "top"' in call(*ask, "--no-whiten", "--transform", "top").stdout

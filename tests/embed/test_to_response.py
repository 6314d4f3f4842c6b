"""Contexts moved to where their responses lie: the equation, its meaning, and dial-embed."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from at_work import ended

from dialtools.embed import to_response
from dialtools.embed.to_response import RIDGE, fit_to_response
from dialtools.errors import DataError
from dialtools.streams.vector_files import read_embeddings

Run = Callable[..., subprocess.CompletedProcess]


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def related(n: int, *, strength: float, dimensions: int = 5) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(n, dimensions)) @ draw.normal(size=(dimensions, dimensions)) + 1
    mixing = draw.normal(size=(dimensions, dimensions))
    return x, strength * x @ mixing + draw.normal(size=(n, dimensions)) @ np.diag([3, 2, 1, 1, 0.5])


def fitted(parts: list[tuple[np.ndarray, np.ndarray]]) -> Callable[[np.ndarray], np.ndarray]:
    moved, choice = fit_to_response(parts, seed=0)
    assert choice.way == 1
    return moved


def test_it_is_the_product_of_the_covariances(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(to_response, "WAYS", (1.0,))
    x, y = (unit(side) for side in related(300, strength=0.5))
    moved = fitted([(x[:100], y[:100]), (x[:0], y[:0]), (x[100:], y[100:])])
    a, b = x - x.mean(0), y - y.mean(0)
    ridge = RIDGE * np.eye(5)  # of vectors of length 1
    by_hand = a @ np.linalg.inv(a.T @ a + ridge) @ (a.T @ b) @ np.linalg.inv(b.T @ b + ridge)
    by_hand *= np.sqrt((a**2).sum() / (by_hand**2).sum())
    np.testing.assert_allclose(moved(x), by_hand, rtol=1e-4, atol=1e-6)
    longer = fitted([(10 * x, 10 * y)])
    np.testing.assert_allclose(longer(10 * x), 10 * by_hand, rtol=1e-4, atol=1e-5)


def test_how_far_contexts_move_is_what_finds_held_out_responses():
    draw = np.random.default_rng(0)
    x, noise = draw.normal(size=(2, 1000, 64))
    turned = x @ np.linalg.qr(draw.normal(size=(64, 64)))[0]
    moved, choice = fit_to_response([(x, turned + noise)], seed=0)
    assert (choice.way, choice.pairs) == (1, 94) and choice.before < 0.1 < 0.7 < choice.after
    # a response like its context: what so few pairs teach is no better than standing still
    moved, choice = fit_to_response([(x, x + 3 * noise)], seed=0)
    assert choice.way < 1 and choice.after >= choice.before - 0.02
    whole = to_response.Sides()
    whole.add(x, x + 3 * noise)
    part = choice.way * whole.matrix() + (1 - choice.way) * np.eye(64)
    np.testing.assert_allclose(moved(x), (x - x.mean(0)) @ part, atol=1e-4)


def test_the_same_pairs_are_held_out_in_whatever_parts_they_come():
    x, y = related(1000, strength=0.5)
    whole, choice = fit_to_response([(x, y)], seed=0)
    bounds = [0, 7, 8, 300, 300, 1000]
    parts = [(x[a:b], y[a:b]) for a, b in itertools.pairwise(bounds)]
    moved, same = fit_to_response(parts, seed=0)
    assert choice.pairs == 94 and str(same) == str(choice)
    np.testing.assert_allclose(moved(x), whole(x), rtol=1e-4, atol=1e-5)


def test_of_many_pairs_no_more_are_held_out_than_tell(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(to_response, "MOST_HELD", 30)
    x, y = related(1000, strength=0.5)
    for cut in (1000, 200, 800):
        _, choice = fit_to_response([(x[:cut], y[:cut]), (x[cut:], y[cut:])], seed=0)
        assert choice.pairs == 30


def test_what_is_told_of_held_out_pairs_is_of_as_many_candidates_as_it_says():
    """Unrelated pairs are found by chance: 1 of 94, or of 100, not of the 14 that are left."""
    for pairs, told, candidates in ((1000, 94, 94), (1200, 100, 100), (2050, 200, 100)):
        x, y = np.random.default_rng(0).normal(size=(2, pairs, 5))
        _, choice = fit_to_response([(x, y)], seed=0)
        assert choice.pairs == told
        assert f"nearest of {candidates} on {told} held-out pairs" in str(choice)


def test_it_is_the_pointwise_mutual_information_of_weakly_related_gaussians(
    monkeypatch: pytest.MonkeyPatch,
):
    """But for terms of a context or a response alone, which four points cancel."""
    monkeypatch.setattr(to_response, "WAYS", (1.0,))
    x, y = related(400_000, strength=0.01)
    moved = fitted([(x, y)])
    both, mean = np.cov(np.hstack([x, y]).T), np.hstack([x, y]).mean(0)
    apart = both.copy()
    apart[:5, 5:] = apart[5:, :5] = 0
    difference = np.linalg.inv(apart) - np.linalg.inv(both)  # of the log densities' matrices

    def information(context: np.ndarray, response: np.ndarray) -> float:
        pair = np.hstack([context, response]) - mean
        return float(pair @ difference @ pair / 2)

    def crossed(score: Callable[[np.ndarray, np.ndarray], float], i: int, j: int) -> float:
        return score(x[i], y[i]) - score(x[i], y[j]) - score(x[j], y[i]) + score(x[j], y[j])

    places = [(i, i + 1) for i in range(0, 400, 2)]
    exact = np.array([crossed(information, *place) for place in places])
    found = np.array([crossed(lambda c, r: float(moved(c[None])[0] @ r), *p) for p in places])
    slope = exact @ found / (found @ found)
    np.testing.assert_allclose(slope * found, exact, atol=0.03 * np.abs(exact).max())


def test_pairs_that_tell_nothing_are_refused():
    some = np.random.default_rng(0).normal(size=(9, 3))
    with pytest.raises(DataError, match="no pairs to fit to"):
        fit_to_response([(some[:0], some[:0])], seed=0)
    for contexts in (np.ones((9, 3)), 0 * some):
        with pytest.raises(DataError, match="9 pairs, whose contexts tell nothing"):
            fit_to_response([(contexts, some)], seed=0)


WORDS = [f"w{i}" for i in range(12)]


@pytest.fixture
def embed(scripts: Path, tmp_path: Path) -> Run:
    """Run dial-embed with vectors of words, of which each is followed by the next."""
    draw = np.random.default_rng(1)
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in draw.normal(size=16))}\n" for word in WORDS]
    (tmp_path / "words.txt").write_text("".join(lines))
    for name, shift in (("pairs", 0), ("held", 0.5)):
        rows = []
        for n in range(240):
            i = n * 7 % 12
            noise = WORDS[int(draw.integers(12))] if shift else WORDS[i]
            response = WORDS[(i + 1) % 12]
            rows.append({"context": [f"{WORDS[i]} {WORDS[i]} {noise}"], "response": response})
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text)

    def run(*flags: object, code: int = 0) -> subprocess.CompletedProcess:
        line = [scripts / "dial-embed", "--model", "words.txt", "--normalize", *map(str, flags)]
        return ended(*line, code=code, text=True, cwd=tmp_path)

    return run


FIT = ("--transform", "to-response", "--save-transform", "t.safetensors")
APPLIED = ("--transform", "t.safetensors")


def vectors(path: Path) -> dict[str, np.ndarray]:
    return read_embeddings([str(path)]).vectors


def test_contexts_move_and_responses_stay(embed: Run, scripts: Path, tmp_path: Path):
    embed(*FIT, "-o", "fitted.parquet", "--shard-rows", 100, "pairs.jsonl")
    embed("-o", "plain.parquet", "held.jsonl")
    embed(*APPLIED, "-o", "moved.parquet", "held.jsonl")
    plain, moved = (vectors(tmp_path / f"{name}.parquet") for name in ("plain", "moved"))
    np.testing.assert_array_equal(plain["response_embedding"], moved["response_embedding"])
    embed("-o", "all.parquet", "pairs.jsonl")
    embed("--transform", "to-response", "--fit-on", "all.parquet", "-o", "on.parquet", "held.jsonl")
    embed(*APPLIED, "--field", "context", "-o", "contexts.parquet", "held.jsonl")
    embed("--field", "response", "-o", "responses.parquet", "held.jsonl")
    np.testing.assert_allclose(
        vectors(tmp_path / "on.parquet")["context_embedding"], moved["context_embedding"], atol=1e-5
    )
    np.testing.assert_array_equal(
        vectors(tmp_path / "contexts.parquet")["embedding"], moved["context_embedding"]
    )

    def found(*line: str) -> list[dict]:
        done = ended(scripts / "dialtools", *line, text=True, cwd=tmp_path)
        return [json.loads(text) for text in done.stdout.splitlines()]

    asked = ["neighbors", "contexts.parquet", "responses.parquet", "-k", "1"]
    near = found(*asked, "--keep", "context,response")
    assert sum(row["near_response"] == _next(row["context"][0]) for row in near) > 220
    texts = ["search", *APPLIED, "responses.parquet", "w3 w3", "-k", "1"]
    assert found(*texts)[0]["response"] == "w4"
    assert found(*texts[:1], *texts[3:])[0]["response"] == "w3"


def test_a_search_takes_no_other_transform_and_looks_for_no_contexts(
    embed: Run, scripts: Path, tmp_path: Path
):
    embed(*FIT, "-o", "fitted.parquet", "pairs.jsonl")
    embed(*APPLIED, "--field", "context", "-o", "moved.parquet", "pairs.jsonl")
    embed("--whiten", "--save-transform", "w.safetensors", "-o", "white.parquet", "pairs.jsonl")
    embed("--field", "response", "-o", "plain.parquet", "pairs.jsonl")
    embed("-o", "both.parquet", "pairs.jsonl")
    contexts = ("--vectors", "context", "both.parquet")
    for transform, file, says in (
        ("w.safetensors", ["plain.parquet"], "not what moves contexts alone"),
        ("to-response", ["plain.parquet"], "no such file"),
        ("t.safetensors", ["moved.parquet"], "the file was made with one of its own"),
        ("t.safetensors", contexts, "finds responses, not their contexts"),
    ):
        line = [scripts / "dialtools", "search", "--transform", transform, *file, "w1"]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def _next(text: str) -> str:
    return WORDS[(WORDS.index(text.split()[0]) + 1) % 12]


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        ((*FIT, "--field", "response"), 2, "is fitted to contexts and their responses"),
        ((*FIT, "--field", "context,response,context+response"), 2, "is fitted to contexts and"),
        ((*FIT, "--keep", "none", "--per", "candidate"), 1, "candidates"),
        (("--transform", "to-response", "--fit-on", "one.parquet"), 1, "has vectors of 1 field"),
    ],
)
def test_what_has_no_two_sides_is_refused(
    flags: tuple, code: int, says: str, embed: Run, tmp_path: Path
):
    embed("--field", "response", "-o", "one.parquet", "pairs.jsonl")
    assert says in embed(*flags, "-o", "x.parquet", "pairs.jsonl", code=code).stderr
    assert not (tmp_path / "x.parquet").exists()


def test_a_record_of_one_text_is_told_before_it_is_embedded(embed: Run, tmp_path: Path):
    (tmp_path / "texts.jsonl").write_text('{"text": "w1"}\n')
    said = embed(*FIT, "-o", "x.parquet", "texts.jsonl", code=2).stderr
    assert "--transform to-response is for a context and a response, not for text" in said

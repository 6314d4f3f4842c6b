"""dialtools center: a model that takes the mean of a log's vectors off its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pair_corpus import Train, as_lines, pair_records
from safetensors.numpy import load_file, save_file

from dialtools.encoder.center import IDENTITY, read_center, write_center
from dialtools.encoder.loading import load_encoder
from dialtools.errors import ModelError

TEXTS = sorted({record["response"] for record in pair_records(40)})
Run = Callable[..., subprocess.CompletedProcess]
MODULE = "3_Dense"


@pytest.fixture
def run(call: Run, tmp_path: Path) -> Run:
    """Run a command in a folder that holds texts.jsonl."""
    (tmp_path / "texts.jsonl").write_bytes(as_lines([{"text": text} for text in TEXTS]))
    return call


@pytest.fixture(scope="module")
def table(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static encoder that has learnt nothing, turns told apart."""
    path = tmp_path_factory.mktemp("static") / "model"
    flags = ("--encoder", "static", "--hidden", 64, "--max-steps", 0, "--threads", 1)
    train(*flags, "-o", path, pairs, small=False)
    return path


def vectors(run: Run, home: Path, model: object, *options: object) -> np.ndarray:
    """Return the (N, D) vectors of the texts, by dial-embed."""
    flags = ("--overwrite", *options, "texts.jsonl", "-o", "v.parquet")
    run("dial-embed -q --device cpu --model", model, *flags)
    column = pq.read_table(home / "v.parquet")["embedding"].combine_chunks()
    return column.flatten().to_numpy().reshape(len(column), -1)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["model", "table"])
def test_vectors_are_unit_less_the_mean_of_units_and_unit_again_for_others_too(
    run: Run, tmp_path: Path, kind: str, request: pytest.FixtureRequest
):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    start = request.getfixturevalue(kind)
    done = run("dialtools center --model", start, "texts.jsonl", "-o", "c")
    assert done.stdout == b"c\n"
    assert f"{len(TEXTS):,} texts, whose mean had length".encode() in done.stderr
    plain = unit(vectors(run, tmp_path, start).astype(np.float64))
    expected = unit(plain - plain.mean(0))
    ours = vectors(run, tmp_path, "c")
    np.testing.assert_allclose(ours, expected, atol=2e-6)
    loose = vectors(run, tmp_path, "c", "--no-normalize")
    np.testing.assert_allclose(loose, plain - plain.mean(0), atol=2e-6)
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "c"), device="cpu")
    np.testing.assert_allclose(theirs.encode(TEXTS), ours, atol=1e-5)


def test_weights_stay_and_what_made_the_model_is_told(run: Run, tmp_path: Path, model: Path):
    run("dialtools center --model", model, "texts.jsonl", "-o", "c")
    before, after = (load_file(path / "model.safetensors") for path in (model, tmp_path / "c"))
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    facts = json.loads((tmp_path / "c/dialtools.json").read_text())
    assert facts["command"] == "dialtools center" and facts["counts"] == {"texts": len(TEXTS)}
    assert facts["parents"][0]["provenance"]["command"] == "dial-train"
    again = tmp_path / "again"
    run("dialtools center --model", model, "texts.jsonl", "-o", again)
    files = [path.relative_to(again) for path in again.rglob("*") if path.is_file()]
    own = {"dialtools.json"}  # it tells of -o
    same = [name for name in files if name.name not in own]
    assert same and all(
        (again / name).read_bytes() == (tmp_path / "c" / name).read_bytes() for name in same
    )


def test_layers_that_take_the_vectors_go_along_where_those_are_the_same(
    run: Run, train: Train, tmp_path: Path, pairs: Path
):
    headed = tmp_path / "headed"
    train("--head", "mlp", "--keep-head", "--max-steps", 1, "-o", headed, pairs)
    run("dialtools center --device cpu texts.jsonl -o centred --model", headed)
    expected, found = (vectors(run, tmp_path, m, "--head", "shared") for m in (headed, "centred"))
    np.testing.assert_allclose(found, unit(expected), atol=1e-6)  # a centred model scales
    told = run("dialtools weigh texts.jsonl -o weighed --model", headed).stderr
    assert f"head.safetensors of {headed} left out: learnt with its vectors" in str(told)


@pytest.mark.parametrize("kind", ["model", "table"])
def test_another_centre_takes_the_place_of_the_first(
    run: Run, tmp_path: Path, kind: str, request: pytest.FixtureRequest
):
    start = request.getfixturevalue(kind)
    run("dialtools center -n 3 --model", start, "texts.jsonl", "-o", "few")
    run("dialtools center --model few texts.jsonl -o again")
    run("dialtools center --model", start, "texts.jsonl", "-o", "once")
    once, again = (load_encoder(str(tmp_path / name)) for name in ("once", "again"))
    assert once.digest() == again.digest()
    assert once.digest() != load_encoder(str(tmp_path / "few")).digest()


def test_a_pooling_of_ones_own_has_nothing_behind_it(run: Run, tmp_path: Path, model: Path):
    run("dialtools center --model", model, "texts.jsonl", "-o", "c")
    plain = vectors(run, tmp_path, model, "--pooling", "cls", "--normalize")
    np.testing.assert_array_equal(vectors(run, tmp_path, "c", "--pooling", "cls"), plain)


def test_what_was_fitted_to_the_model_before_is_refused(run: Run, tmp_path: Path, model: Path):
    run("dialtools center --model", model, "texts.jsonl", "-o", "c")
    vectors(run, tmp_path, model, "--transform", "top", "--save-transform", "t.safetensors")
    done = run("dial-embed --model c --transform t.safetensors texts.jsonl -o no.parquet", code=2)
    assert b"fitted to vectors of another model" in done.stderr


def test_training_leaves_the_centre_out_and_says_so(
    run: Run, train: Train, tmp_path: Path, model: Path, pairs: Path
):
    run("dialtools center --model", model, "texts.jsonl", "-o", "c")
    flags = ("--no-center", "--max-steps", 2, "--batch-size", 16, "--threads", 1, "--device", "cpu")
    done = train("--model", tmp_path / "c", *flags, "-o", tmp_path / "t", pairs, small=False)
    assert b"trained without its centre" in done.stderr
    train("--model", model, *flags, "-o", tmp_path / "plain", pairs, small=False)
    learnt, plain = (load_encoder(str(tmp_path / name)) for name in ("t", "plain"))
    assert learnt.center is None and learnt.digest() == plain.digest()


def test_a_run_that_holds_on_to_a_sentence_encoder_saves_the_mean_of_its_responses_as_centre(
    run: Run, train: Train, tmp_path: Path, model: Path, pairs: Path
):
    flags = ("--max-steps", 2, "--batch-size", 16, "--threads", 1, "--device", "cpu")
    for name, more in {"whole": ["--no-center"], "centred": []}.items():
        train("--model", model, *flags, *more, "-o", tmp_path / name, pairs, small=False)
    responses = [{"text": json.loads(line)["response"]} for line in pairs.open()]
    (tmp_path / "texts.jsonl").write_bytes(as_lines(responses))
    plain = unit(vectors(run, tmp_path, "whole"))
    center = load_encoder(str(tmp_path / "centred")).center
    np.testing.assert_allclose(center, plain.mean(0), atol=1e-6)


def test_models_are_merged_without_the_centres_of_their_training(
    run: Run, tmp_path: Path, train: Train, pairs: Path
):
    flags = ("--encoder", "static", "--threads", 1, "--device", "cpu", pairs)
    train("--hidden", 64, "--max-steps", 0, "-o", tmp_path / "start", *flags, small=False)
    again = ("--model", tmp_path / "start", "--max-steps", 2, "--batch-size", 16)
    for name, more in {"whole": ["--no-center"], "centred": []}.items():
        train(*again, *more, "-o", tmp_path / name, *flags, small=False)
        done = run("dialtools merge", "start", f"{name}*0.5", "-o", f"half-{name}")
        assert (b"centred: merged without its centre" in done.stderr) == (name == "centred")
    whole, centred = (load_encoder(str(tmp_path / f"half-{n}")) for n in ("whole", "centred"))
    assert centred.center is None and centred.digest() == whole.digest()
    run("dialtools center --model whole texts.jsonl -o c")
    done = run("dialtools merge start c -o m", code=1)
    assert b"merge it as it was before dialtools center" in done.stderr


@pytest.mark.parametrize("kind", ["model", "table"])
def test_a_model_merged_without_a_centre_ends_as_its_start_does(
    run: Run, tmp_path: Path, train: Train, pairs: Path, kind: str, request
):
    start = request.getfixturevalue(kind)
    flags = ("--max-steps", 2, "--batch-size", 16, "--threads", 1, "--device", "cpu", "--center")
    train("--model", start, *flags, "-o", tmp_path / "centred", pairs, small=False)
    run("dialtools merge", start, "centred", "-o", "m")
    m, own = load_encoder(str(tmp_path / "m")), load_encoder(str(start))
    assert (m.center, m.normalize) == (None, own.normalize)
    run("dialtools merge", start, "m", "centred", "-o", "again")


def damaged(folder: Path, change: Callable[[dict[str, np.ndarray], dict[str, Any]], None]) -> None:
    """Change the module of a centre."""
    tensors = load_file(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    change(tensors, config)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))


def turned(tensors: dict[str, np.ndarray], _: object) -> None:
    tensors["linear.weight"][0, 1] = 0.5


def narrow(tensors: dict[str, np.ndarray], _: object) -> None:
    tensors["linear.bias"] = tensors["linear.bias"][:-1].copy()


def endless(tensors: dict[str, np.ndarray], _: object) -> None:
    tensors["linear.bias"][0] = np.inf


def nameless(tensors: dict[str, np.ndarray], _: object) -> None:
    tensors["bias"] = tensors.pop("linear.bias")


def bent(_: object, config: dict[str, Any]) -> None:
    assert config["activation_function"] == IDENTITY
    config["activation_function"] = "torch.nn.modules.activation.Tanh"


@pytest.mark.parametrize("change", [turned, narrow, endless, nameless, bent])
def test_a_module_that_does_more_is_refused(tmp_path: Path, change: Callable[..., None]):
    write_center(np.linspace(0, 1, 5), tmp_path)
    damaged(tmp_path, change)
    with pytest.raises(ModelError, match="does more to vectors of 5 dimensions"):
        read_center(tmp_path, 5)


def test_a_module_without_its_weights_is_refused(run: Run, tmp_path: Path, model: Path):
    run("dialtools center --model", model, "texts.jsonl", "-o", "c")
    (tmp_path / "c" / MODULE / "model.safetensors").write_bytes(b"short")
    done = run("dial-embed --model c texts.jsonl -o v.parquet", code=1)
    assert b"c/3_Dense/model.safetensors: damaged weights" in done.stderr


def test_a_layer_that_is_not_between_norms_is_no_centre(run: Run, tmp_path: Path, model: Path):
    run("dialtools center --model", model, "texts.jsonl", "-o", "c")
    modules = json.loads((tmp_path / "c/modules.json").read_text())
    (tmp_path / "c/modules.json").write_text(json.dumps(modules[:-1]))
    done = run("dial-embed --model c texts.jsonl -o v.parquet", code=1)
    assert b'"Dense": a module that is not known here' in done.stderr


def test_what_cannot_be_centred_is_told_and_nothing_is_left(run: Run, tmp_path: Path, model: Path):
    (tmp_path / "words.txt").write_text("the 1 0 0\nto 0 1 0\n")
    shutil.copytree(model, tmp_path / "m")
    center = "dialtools center --model m -o c"
    one = as_lines([{"text": "the same"}] * 3)
    for command, stdin, code, says in (
        ("dialtools center texts.jsonl -o c", b"", 2, b"--model DIR is needed"),
        ("dialtools center --model m texts.jsonl", b"", 2, b"-o DIR"),
        ("dialtools center --model words.txt texts.jsonl -o c", b"", 2, b"no place for a centre"),
        (center, one, 1, b"3 vectors, all equal"),
        (f"{center} -n 0 texts.jsonl", b"", 2, b"must be 1 or more"),
        (f"{center} texts.jsonl --field txt", b"", 2, b"no field 'txt'"),
        (f"{center} --sample 0.5", b'{"text": 5}\n', 1, b"text"),
    ):
        done = run(command, stdin=stdin, code=code)
        assert says in done.stderr and not done.stdout, command
        assert len(done.stderr.splitlines()) <= 2 and not (tmp_path / "c").exists()
    assert run(f"{center} texts.jsonl", code=0).stdout == b"c\n"
    assert b"exists" in run(f"{center} texts.jsonl", code=1).stderr

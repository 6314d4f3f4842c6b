"""dialtools merge: what models learnt from one start, added up."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from at_work import ended
from hypothesis import given
from hypothesis import strategies as st
from pair_corpus import Train, weights
from safetensors.torch import load_file, save_file

from dialtools.encoder.fresh import train_tokenizer
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.modeldir import save
from dialtools.encoder.static import fresh_static
from dialtools.encoder.weights import Shape, merged
from dialtools.merge.tensors import Tensors, write

TUNE = shlex.split(
    "--threads 1 --device cpu --batch-size 32 --lr 1e-3 --max-steps 6 "
    "--merge-with-start 1 --no-center"
)
CPU = shlex.split("--threads 1 --device cpu")
Merge = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="module")
def merge(scripts: Path, environment: dict[str, str]) -> Merge:
    def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess:
        line = [str(scripts / "dialtools"), "merge", *map(str, arguments)]
        return ended(*line, code=code, text=True, env=environment, timeout=600)

    return run


@pytest.fixture(scope="module")
def family(train: Train, model: Path, pairs: Path, tmp_path_factory) -> dict[str, Path]:
    """A start, two models of it, half of the first's way, and one of another start."""
    home = tmp_path_factory.mktemp("family")
    of_start = ("--model", model, *TUNE)
    train(*of_start, "-o", home / "a", pairs, small=False)
    train(*of_start, "--seed", 1, "-o", home / "b", pairs, small=False)
    train(*of_start, "--merge-with-start", 0.3, "-o", home / "half", pairs, small=False)
    train("--max-steps", 0, "--seed", 5, "-o", home / "elsewhere", pairs)
    train("--model", home / "elsewhere", *TUNE, "-o", home / "stranger", pairs, small=False)
    return {"start": model, **{path.name: path for path in home.iterdir()}}


def transcribed(start: Path, parts: dict[Path, float]) -> dict[str, np.ndarray]:
    """Return start + the sum of weight * (model - start), number by number."""
    own = load_file(start / "model.safetensors")
    others = [(load_file(m / "model.safetensors"), weight) for m, weight in parts.items()]
    return {
        name: sum(
            (weight * (other[name].double() - value.double()) for other, weight in others),
            start=value.double(),
        )
        .float()
        .numpy()
        for name, value in own.items()
    }


def test_the_result_is_the_start_and_a_part_of_each_difference(
    merge: Merge, family: dict[str, Path], tmp_path: Path
):
    a, b = family["a"], family["b"]
    done = merge(family["start"], f"{a}*0.7", f"{b}*0.5", "-o", tmp_path / "m")
    assert done.stdout.split() == [str(tmp_path / "m")]
    expected = transcribed(family["start"], {a: 0.7, b: 0.5})
    found = load_file(tmp_path / "m" / "model.safetensors")
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name].numpy(), value)


def test_a_model_alone_has_weight_1_and_is_itself(
    merge: Merge, family: dict[str, Path], tmp_path: Path
):
    merge(family["start"], family["a"], "-o", tmp_path / "m")
    assert weights(tmp_path / "m") == weights(family["a"])


def test_merging_at_the_end_of_training_gives_the_bytes_of_merging_later(
    merge: Merge, family: dict[str, Path], tmp_path: Path
):
    merge(family["start"], f"{family['a']}*0.3", "-o", tmp_path / "m")
    assert weights(tmp_path / "m") == weights(family["half"])


def test_a_merged_model_is_a_model_to_every_command(
    merge: Merge,
    train: Train,
    family: dict[str, Path],
    pairs: Path,
    scripts: Path,
    environment: dict[str, str],
    tmp_path: Path,
):
    m = tmp_path / "m"
    merge(family["start"], f"{family['a']}*0.5", f"{family['b']}*0.5", "-o", m)
    line = [scripts / "dial-embed", "--model", m, pairs, "-o", tmp_path / "p.parquet", *CPU]
    subprocess.run(list(map(str, line)), check=True, env=environment, capture_output=True)
    train("--model", m, *TUNE, "-o", tmp_path / "further", pairs, small=False)
    merge(m, f"{tmp_path / 'further'}*0.5", "-o", tmp_path / "again")  # of a merged start
    merge(family["start"], f"{m}*0.5", "-o", tmp_path / "half")  # a merged model of its start

    told = json.loads((m / "dialtools.json").read_text())
    assert told["weights"] == load_encoder(str(m)).digest()
    assert [parent.get("weight") for parent in told["parents"]] == [None, 0.5, 0.5]
    assert told["parents"][1]["provenance"]["command"] == "dial-train"
    assert f"| `{family['a']}` | 0.5 |" in (m / "README.md").read_text()
    assert not {"train-log.jsonl", "snapshots"} & {path.name for path in m.iterdir()}


def test_sentence_transformers_loads_a_merged_model(
    merge: Merge, family: dict[str, Path], tmp_path: Path
):
    theirs = pytest.importorskip("sentence_transformers", reason="needs the test extra")
    merge(family["start"], f"{family['a']}*0.5", "-o", tmp_path / "m")
    found = theirs.SentenceTransformer(str(tmp_path / "m"), device="cpu").encode(["book a table"])
    half = theirs.SentenceTransformer(str(family["a"]), device="cpu")
    half[0].auto_model.load_state_dict(
        {
            name: torch.from_numpy(value)
            for name, value in transcribed(family["start"], {family["a"]: 0.5}).items()
        }
    )
    np.testing.assert_allclose(found, half.encode(["book a table"]), atol=1e-6)


def test_models_from_nothing_merge_with_what_their_own_run_began_from(
    merge: Merge, train: Train, family: dict[str, Path], pairs: Path, tmp_path: Path
):
    train("--max-steps", 4, "--batch-size", 32, "--snapshot-every", 2, "-o", tmp_path / "m", pairs)
    first = tmp_path / "m" / "snapshots" / "step-000000"
    merge(first, f"{tmp_path / 'm'}*0.5", "-o", tmp_path / "half")
    refused = merge(
        family["elsewhere"], f"{tmp_path / 'm'}*0.5", "-o", tmp_path / "x", code=1
    ).stderr
    assert "of another start" in refused


def test_a_merged_static_encoder_tells_the_digest_that_files_of_its_vectors_tell(
    merge: Merge, tmp_path: Path
):
    tokenizer = train_tokenizer(["a table"], vocab_size=30)
    for seed, name in enumerate(("start", "model")):
        (tmp_path / name).mkdir()
        save(
            fresh_static(tokenizer, dimension=4, seed=seed), tmp_path / name, provenance={}, card=""
        )
    merge(tmp_path / "start", f"{tmp_path / 'model'}*0.5", "-o", tmp_path / "m")
    told = json.loads((tmp_path / "m" / "dialtools.json").read_text())["weights"]
    assert told == load_encoder(str(tmp_path / "m")).digest()


def test_a_static_start_whose_tokens_have_weights_is_no_start_of_a_model_without(
    merge: Merge, tmp_path: Path
):
    """Training begins from vectors times weights; the sum would be of vectors as they lie there."""
    for name in ("start", "model"):
        (tmp_path / name).mkdir()
        static = fresh_static(train_tokenizer(["a table"], vocab_size=30), dimension=4, seed=0)
        save(static, tmp_path / name, provenance={}, card="")
        (tmp_path / name / "dialtools.json").unlink()
    file = tmp_path / "start" / "model.safetensors"
    table = load_file(file)["embeddings"]
    save_file({"embeddings": table, "weights": torch.rand(len(table))}, file)
    refused = merge(tmp_path / "start", tmp_path / "model", "-o", tmp_path / "m", code=1).stderr
    assert "not of the shape of" in refused and "1 missing (weights)\n" in refused
    assert "--max-steps 0" in refused


@pytest.fixture
def copied(family: dict[str, Path], tmp_path: Path) -> Path:
    """A model that a test may spoil."""
    return Path(shutil.copytree(family["a"], tmp_path / "spoilt"))


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def reshape(model: Path) -> None:
    tensors = load_file(model / "model.safetensors")
    tensors["embeddings.word_embeddings.weight"] = torch.zeros(3, 64)
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})


def lose(model: Path) -> None:
    tensors = load_file(model / "model.safetensors")
    del tensors["embeddings.LayerNorm.bias"]
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})


def infinite(model: Path) -> None:
    tensors = load_file(model / "model.safetensors")
    tensors["embeddings.LayerNorm.bias"][0] = float("inf")
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})


def rename_token(model: Path) -> None:
    path = model / "tokenizer.json"
    path.write_text(path.read_text().replace('"restaurant"', '"bistro"'))


def pool_by_first(model: Path) -> None:
    def change(config: dict[str, Any]) -> dict[str, Any]:
        flags = {key: False for key in config if key.startswith("pooling_mode_")}
        return {**config, **flags, "pooling_mode_cls_token": True, "pooling_mode": "cls"}

    edit(model / "1_Pooling" / "config.json", change)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (reshape, "1 of another shape (embeddings.word_embeddings.weight 3x64, not "),
        (lose, "1 missing (embeddings.LayerNorm.bias)"),
        (infinite, ": embeddings.LayerNorm.bias: not finite"),
        (rename_token, "tokenizer.json: other tokens than those of"),
        (pool_by_first, "pooling cls, not mean as that of "),
        (lambda m: (m / "model.safetensors").write_bytes(b"{}"), "damaged weights"),
        (lambda m: (m / "model.safetensors").unlink(), "no model.safetensors"),
        (lambda m: (m / "tokenizer.json").write_text("{"), "its tokenizer"),
    ],
)
def test_models_that_do_not_fit_are_refused_in_one_line_that_names_what(
    spoil: Callable[[Path], Any],
    says: str,
    merge: Merge,
    family: dict[str, Path],
    copied: Path,
    tmp_path: Path,
):
    spoil(copied)
    refused = merge(family["start"], family["b"], copied, "-o", tmp_path / "m", code=1).stderr
    assert says in refused and "Traceback" not in refused
    assert len(refused.splitlines()) <= 2
    assert refused.startswith(f"dialtools merge: {copied}")
    assert {path.name for path in tmp_path.iterdir()} == {"spoilt"}


def test_a_model_of_another_start_is_refused_unless_nothing_tells_its_start(
    merge: Merge, family: dict[str, Path], tmp_path: Path
):
    line = (family["start"], family["a"], f"{family['stranger']}*0.5", "-o", tmp_path / "m")
    refused = merge(*line, code=1).stderr
    assert f"stranger: trained from {family['elsewhere']}, whose weights are not" in refused
    silent = Path(shutil.copytree(family["stranger"], tmp_path / "silent"))
    (silent / "dialtools.json").unlink()
    merge(*line[:2], silent, "-o", tmp_path / "m")


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("", 2, "name the start"),
        ("START -o OUT", 2, "name the start"),
        ("START A*0.5", 2, "-o DIR"),
        ("START A*nan -o OUT", 2, "the weight: expected a number that is finite"),
        ("START A*inf -o OUT", 2, "finite"),
        ("START A*half -o OUT", 2, "expected a number"),
        ("START*0.5 A -o OUT", 2, "the start comes first, without a weight"),
        ("START START*0.5 -o OUT", 2, "is the start itself"),
        ("START A*0.5 -o A --overwrite", 2, "would be replaced, and is to be read"),
        ("START A*0.5 -o START --overwrite", 2, "-o and an input name the same file"),
        ("START A*0.5 -o B", 1, "exists already"),
        ("START A*0.5 no-such*0.5 -o OUT", 1, "no model 'no-such' on this machine"),
        ("START A*0.5 B --choose-on PAIRS -o OUT", 2, "--choose-on chooses the weights"),
        ("START A B A B --choose-on PAIRS -o OUT", 2, "625 candidates, 400 at most"),
        ("START A --choose-on no-such.jsonl -o OUT", 1, "no-such.jsonl"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_written(
    line: str,
    code: int,
    says: str,
    merge: Merge,
    family: dict[str, Path],
    pairs: Path,
    tmp_path: Path,
):
    names = {"START": family["start"], "OUT": tmp_path / "m", "PAIRS": pairs}
    names |= {"A": family["a"], "B": family["b"]}

    def filled(word: str) -> str:
        name, star, weight = word.partition("*")
        return f"{names.get(name, name)}{star}{weight}"

    before = weights(family["start"]) + weights(family["a"]) + weights(family["b"])
    refused = merge(*map(filled, line.split()), code=code).stderr
    assert says in refused and len(refused.splitlines()) <= 2
    assert not list(tmp_path.iterdir())
    assert before == weights(family["start"]) + weights(family["a"]) + weights(family["b"])


def test_an_output_is_replaced_only_if_that_is_said(
    merge: Merge, family: dict[str, Path], tmp_path: Path
):
    out = tmp_path / "m"
    merge(family["start"], f"{family['a']}*0.5", "-o", out)
    merge(family["start"], family["a"], "-o", out, code=1)
    merge(family["start"], family["a"], "-o", out, "--overwrite")
    assert weights(out) == weights(family["a"])


def test_a_dry_run_tells_the_sum_and_writes_nothing(
    merge: Merge, family: dict[str, Path], pairs: Path, tmp_path: Path
):
    line = (family["start"], family["a"], family["b"])
    told = merge(*line, "-o", tmp_path / "m", "--dry-run").stdout
    assert f"{family['start']} + 1 ({family['a']}) + 1 ({family['b']})" in told
    chosen = ("--choose-on", pairs, "--grid", "0.5,1", "-o", tmp_path / "m")
    told = merge(*line, *chosen, "--dry-run").stdout
    assert f"5 candidates, each embeds 960 of {pairs}: 4,800 texts in all" in told
    assert not list(tmp_path.iterdir())


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=9)
KINDS = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
KINDS |= {torch.int64: "I64", torch.uint8: "U8", torch.bool: "BOOL"}


@given(
    st.dictionaries(
        NAMES.filter(lambda name: name != "__metadata__"),
        st.tuples(st.sampled_from(list(KINDS)), st.lists(st.integers(0, 5), max_size=3)),
        max_size=6,
    )
)
def test_weights_written_one_by_one_are_read_by_the_library(tmp_path_factory, tensors):
    folder = tmp_path_factory.mktemp("written")
    made = {
        name: (torch.arange(int(np.prod(sizes))) % 2).reshape(sizes).to(kind)
        for name, (kind, sizes) in tensors.items()
    }
    shapes = {name: Shape(KINDS[t.dtype], tuple(t.shape)) for name, t in made.items()}
    write(folder / "model.safetensors", shapes, made.__getitem__)
    read = load_file(folder / "model.safetensors")
    assert read.keys() == made.keys()
    for name, value in made.items():
        assert read[name].dtype == value.dtype and torch.equal(read[name], value)
    assert Tensors(folder).shapes == shapes


def test_whole_numbers_are_the_starts_and_its_type_stays():
    start, other = torch.tensor([1, 2]), torch.tensor([9, 9])
    assert merged(start, [(other, 0.5)]).tolist() == [1, 2]
    half = merged(torch.tensor([1.0, 3.0], dtype=torch.float16), [(torch.tensor([2.0, 3.0]), 0.5)])
    assert half.dtype == torch.float16 and half.tolist() == [1.5, 3.0]


def in_parts(model: Path) -> None:
    """Save the weights of a model in two files."""
    tensors = load_file(model / "model.safetensors")
    (model / "model.safetensors").unlink()
    for number in (1, 2):
        part = {name: tensors[name] for name in sorted(tensors)[number - 1 :: 2]}
        save_file(part, model / f"model-{number:05d}-of-00002.safetensors")


def test_a_start_in_parts_and_with_a_head_is_merged_by_its_encoders_names(
    merge: Merge, family: dict[str, Path], tmp_path: Path
):
    start = Path(shutil.copytree(family["start"], tmp_path / "start"))
    tensors = load_file(start / "model.safetensors")
    headed = {f"bert.{name}": value for name, value in tensors.items()}
    headed["cls.bias"] = torch.zeros(3)
    headed["bert.embeddings.position_ids"] = torch.arange(9)
    save_file(headed, start / "model.safetensors", metadata={"format": "pt"})
    in_parts(start)
    a = Path(shutil.copytree(family["a"], tmp_path / "a"))
    (a / "dialtools.json").unlink()  # the start that it tells has other digests
    merge(start, f"{a}*0.3", "-o", tmp_path / "m")
    assert weights(tmp_path / "m") == weights(family["half"])


def test_a_pipe_given_as_the_output_stays_a_pipe(
    merge: Merge, family: dict[str, Path], tmp_path: Path
):
    os.mkfifo(tmp_path / "pipe")
    merge(family["start"], family["a"], "-o", tmp_path / "pipe", "--overwrite", code=1)
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]

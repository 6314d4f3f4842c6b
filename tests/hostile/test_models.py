"""A stranger's model is loaded whole or not at all, and what lies beside its weights is checked."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from at_work import ended
from safetensors.torch import load_file, save_file

from dialtools.encoder.encode import encode
from dialtools.encoder.folder import model_folder
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.modeldir import save
from dialtools.encoder.sequences import sequences_of
from dialtools.errors import ModelError

TEXTS = ["a table for two", "thank you", "which day?"]
LAYER = "encoder.layer.1.output.dense.weight"
Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two layers of 64 dimensions, as sentence-transformers writes them."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    folder.mkdir()
    encoder = fresh_encoder(train_tokenizer(TEXTS, vocab_size=100), hidden=64, layers=2)
    save(encoder, folder, provenance={"options": {}}, card="")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "model")


def vectors(name: object, **settings: Any) -> np.ndarray:
    encoder = load_encoder(str(name), **settings)
    items = [((text,), None) for text in TEXTS]
    return encode(encoder, sequences_of(encoder, items, 64)[0], batch_tokens=64)


def tensors(change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> Damage:
    """Return what changes the weights of a folder."""

    def damage(folder: Path) -> None:
        path = folder / "model.safetensors"
        changed = {name: value.contiguous() for name, value in change(load_file(path)).items()}
        save_file(changed, path)

    return damage


def field(name: str, value: object, *, file: str = "config.json") -> Damage:
    """Return what changes one field of a JSON file; without a name, the whole file."""

    def damage(folder: Path) -> None:
        path = folder / file
        known = json.loads(path.read_text()) if name and path.exists() else {}
        path.write_text(json.dumps({**known, name: value} if name else value))

    return damage


def write(file: str, content: str) -> Damage:
    return lambda folder: (folder / file).write_text(content)


POOLING, LENGTH = "1_Pooling/config.json", "sentence_bert_config.json"
MODULE = {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}
DAMAGES: dict[str, tuple[Damage, str]] = {
    "weights under other names": (
        tensors(lambda t: {f"0.auto_model.{k}": v for k, v in t.items()}),
        "37 missing",
    ),
    "no weights": (tensors(lambda t: {}), "37 missing"),
    "half of the layers": (
        tensors(lambda t: {k: v for k, v in t.items() if "layer.1." not in k}),
        "16 missing (encoder.layer.1",
    ),
    "a layer too many": (field("num_hidden_layers", 1), "16 too many (encoder.layer.1"),
    "one shape": (tensors(lambda t: {**t, LAYER: t[LAYER].T}), f"{LAYER} 256x64, not 64x256"),
    "weights of whole numbers": (
        tensors(lambda t: {**t, LAYER: t[LAYER].to(torch.int8)}),
        f"I8, not in floating point: {LAYER}",
    ),
    "half a pooler": (
        tensors(lambda t: {k: v for k, v in t.items() if k != "pooler.dense.bias"}),
        "1 missing (pooler.dense.bias)",
    ),
    "another kind of model": (field("model_type", "gpt2"), "missing (h.0."),
    "a kind that is none": (field("model_type", "\x1b]0;"), "not a model that transformers"),
    "a file cut short": (
        lambda folder: write("model.safetensors", "x" * 9)(folder),
        "model.safetensors: damaged weights",
    ),
    "weights that may hold code": (
        lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
        "no model.safetensors",
    ),
    "weights of elsewhere": (
        field("transformers_weights", "../x.safetensors"),
        "inside the folder",
    ),
    "an adapter": (write("adapter_config.json", "{}"), "an adapter"),
    "a million layers": (field("num_hidden_layers", 10**6), "num_hidden_layers: 1,000,000"),
    "a billion labels": (field("num_labels", 10**9), "num_labels: expected at most"),
    "a head below nothing": (field("num_attention_heads", -1), "heads: expected 1 or more"),
    "a dropout of 2": (field("hidden_dropout_prob", 2), "hidden_dropout_prob: expected a share"),
    "a giant": (field("hidden_size", 1 << 16), "describes a model of"),
    "a vocabulary below nothing": (field("vocab_size", -1), "not a model"),
    "no heads": (field("num_attention_heads", 0), "not a model"),
    "no configuration": (lambda folder: (folder / "config.json").unlink(), "no config.json"),
    "a configuration that is a list": (field("", [1]), "config.json: expected an object"),
    "a configuration nested without end": (write("config.json", "[" * 10**5), "nested too deep"),
    "modules that are no objects": (field("", [1], file="modules.json"), "[0]: expected an object"),
    "a module of nothing": (field("", [{}], file="modules.json"), "[0].type: expected a text"),
    "a module of a number": (field("", [{"type": 5}], file="modules.json"), "got 5"),
    "modules nested without end": (write("modules.json", "[" * 10**5), "nested too deep"),
    "modules of elsewhere": (
        field("", [{**MODULE, "path": "../../x"}], file="modules.json"),
        "[0].path: expected a path inside the folder",
    ),
    "a module that is not known": (
        field("", [{"type": "x.Dense", "path": "2_Dense"}], file="modules.json"),
        '"x.Dense": a module that is not known',
    ),
    "pooling that is a list": (field("", [], file=POOLING), "expected an object"),
    "pooling of a number": (field("pooling_mode_mean_tokens", 5, file=POOLING), "true or false"),
    "two poolings": (field("pooling_mode_cls_token", True, file=POOLING), "2 poolings at once"),
    "pooling that is not known": (
        field("", {"pooling_mode": "weightedmean"}, file=POOLING),
        '"weightedmean": a pooling that is not known',
    ),
    "pooling of a list": (field("", {"pooling_mode": ["mean"]}, file=POOLING), "expected a text"),
    "pooling for another encoder": (
        field("word_embedding_dimension", 5, file=POOLING),
        "pooling of 5 dimensions",
    ),
    "a length below nothing": (field("max_seq_length", -5, file=LENGTH), "got -5"),
    "a length of true": (field("max_seq_length", True, file=LENGTH), "got true"),
    "a length without room for a word": (field("max_seq_length", 2, file=LENGTH), "3 or more"),
    "a length file that is a number": (field("", 5, file=LENGTH), "expected an object"),
    "no provenance at all": (field("", [], file="dialtools.json"), "expected an object"),
    "options of a number": (field("options", 5, file="dialtools.json"), "options: expected"),
    "speakers that the tokenizer lacks": (
        field("options", {"speaker-tokens": True}, file="dialtools.json"),
        "the tokenizer does not know them",
    ),
    "a tokenizer without words": (
        lambda folder: _vocabulary(folder, lambda vocab: {}),
        "tokenizer",
    ),
    "words beyond the embeddings": (
        lambda folder: _vocabulary(folder, lambda vocab: {**vocab, "zzz": 4_000_000_000}),
        "the model knows",
    ),
    "a length that is a text": (
        field("model_max_length", "x", file="tokenizer_config.json"),
        "model_max_length",
    ),
    "a tokenizer of rubbish": (write("tokenizer.json", '{"model": 5}'), "not a model"),
}


def _vocabulary(folder: Path, change: Callable[[dict[str, int]], dict[str, int]]) -> None:
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["model"]["vocab"] = change(tokenizer["model"]["vocab"])
    path.write_text(json.dumps(tokenizer))


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_model_is_refused_in_one_line(folder: Path, name: str):
    damage, words = DAMAGES[name]
    damage(folder)
    with pytest.raises(ModelError) as error:
        load_encoder(str(folder))
    message = str(error.value)
    assert words in message
    assert str(folder) in message
    assert len(message) < 1000


LONG_T5 = {"d_model": 32, "d_kv": 16, "d_ff": 32, "num_layers": 1, "num_heads": 2}
CANINE = {"hidden_size": 48, "num_hidden_layers": 1, "intermediate_size": 32}
NARROW_OPT = {"hidden_size": 32, "word_embed_proj_dim": 16, "ffn_dim": 32}
NARROW_OPT |= {"num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.mark.parametrize(
    ("kind", "config", "says"),
    [
        ("LongT5", LONG_T5, "longt5: no kind of model for --pooling mean: You have to"),
        ("Canine", CANINE, "without a table of tokens"),
        ("OPT", NARROW_OPT, "vectors of 16 dimensions, but config.json tells 32"),
    ],
)
def test_kinds_of_models_without_vectors_of_tokens_are_refused_as_they_are_loaded(
    folder: Path, kind: str, config: dict[str, Any], says: str
):
    import transformers as t

    vocab = json.loads((folder / "config.json").read_text())["vocab_size"]
    settings = getattr(t, f"{kind}Config")(vocab_size=vocab, **config)
    shutil.rmtree(folder / "1_Pooling")
    for name in ("modules.json", "config_sentence_transformers.json", LENGTH):
        (folder / name).unlink()
    getattr(t, f"{kind}Model")(settings).save_pretrained(folder)
    with pytest.raises(ModelError, match=says):
        load_encoder(str(folder))


def test_a_pooling_of_ones_own_makes_up_for_modules_that_are_not_known(folder: Path, whole: Path):
    field("", [{"type": "x.Dense", "path": "2_Dense"}], file="modules.json")(folder)
    np.testing.assert_array_equal(vectors(folder, pooling="mean"), vectors(whole))


def with_index(folder: Path) -> dict[str, str]:
    """Split the weights into two files; return the map of the index."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    names = {name: f"model-{len(name) % 2}.safetensors" for name in weights}
    for file in set(names.values()):
        save_file({k: v for k, v in weights.items() if names[k] == file}, folder / file)
    path.unlink()
    index = {"metadata": {}, "weight_map": names}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return names


def _as_bert(folder: Path) -> None:
    """Name the weights as a masked language model of old does, in half precision."""
    extra = {
        "cls.predictions.bias": torch.zeros(3),
        "bert.embeddings.position_ids": torch.arange(512),
    }
    tensors(lambda t: {**{f"bert.{k}": v for k, v in t.items()}, **extra})(folder)


def _as_old_folder(folder: Path) -> None:
    """Put the transformer into a folder of its own."""
    inner = folder / "0_Transformer"
    inner.mkdir()
    for file in [file for file in folder.iterdir() if file.is_file()]:
        if file.name not in ("modules.json", "README.md", "dialtools.json"):
            file.rename(inner / file.name)
    path = folder / "modules.json"
    modules = json.loads(path.read_text())
    modules[0]["path"] = "0_Transformer"
    path.write_text(json.dumps(modules))


def _as_links(folder: Path) -> None:
    """Keep the files elsewhere, as the cache of the hub does."""
    blobs = folder.with_name("blobs")
    shutil.copytree(folder, blobs)
    for file in folder.glob("*.*"):
        file.unlink()
        file.symlink_to(blobs / file.name)


def _without_pooler(folder: Path) -> None:
    tensors(lambda t: {k: v for k, v in t.items() if "pooler" not in k})(folder)


@pytest.mark.parametrize(
    "change", [with_index, _as_bert, _as_old_folder, _as_links, _without_pooler]
)
def test_models_as_the_world_writes_them_give_the_same_vectors(
    folder: Path, whole: Path, change: Damage
):
    change(folder)
    np.testing.assert_array_equal(vectors(folder), vectors(whole))


def test_a_name_in_the_cache_of_the_hub_is_its_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    field("", {"pooling_mode": "cls"}, file=POOLING)(folder)
    cached = tmp_path / "hub" / "models--some--model"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("0" * 40)
    shutil.copytree(folder, cached / "snapshots" / ("0" * 40))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    np.testing.assert_array_equal(vectors("some/model"), vectors(folder))


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch):
    def fetch(name: str, *, local_files_only: bool = False) -> str:
        asked.append((name, local_files_only))
        raise OSError

    asked: list[tuple[str, bool]] = []
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    with pytest.raises(ModelError, match="no model 'some/model' on this machine"):
        model_folder("some/model")
    assert asked == [("some/model", True)]


def test_what_has_no_pooler_is_the_same_model_each_time(folder: Path):
    _without_pooler(folder)
    first, second = load_encoder(str(folder)), load_encoder(str(folder))
    assert first.digest() == second.digest()
    assert first.backbone.pooler is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../../other.safetensors", "expected a safetensors file of the folder"),
        ("/etc/passwd.safetensors", "expected a safetensors file of the folder"),
        ("weights.bin", "expected a safetensors file of the folder"),
        (5, "expected a safetensors file of the folder"),
        ("absent.safetensors", "1 of 2 files missing (absent.safetensors)"),
    ],
)
def test_an_index_names_files_of_its_folder(folder: Path, name: object, words: str):
    names = {**with_index(folder), LAYER: name}
    field("weight_map", names, file="model.safetensors.index.json")(folder)
    with pytest.raises(ModelError) as error:
        load_encoder(str(folder))
    assert words in str(error.value)


@pytest.fixture
def told(scripts: Path, environment: dict[str, str], tmp_path: Path) -> Callable[..., str]:
    """Run a command that must fail with one line and a hint, and leave nothing; return both."""

    def run(*words: object, stdin: bytes = b'{"text": "a table"}\n') -> str:
        done = subprocess.run(
            [str(scripts / str(words[0])), *map(str, words[1:])],
            input=stdin,
            capture_output=True,
            env=environment,
            cwd=tmp_path,
        )
        said = done.stderr.decode()
        assert done.returncode == 1, said
        assert not done.stdout
        assert said.count("\n") <= 2
        assert "defect" not in said
        return said

    return run


def test_every_command_that_loads_a_model_refuses_half_of_one(
    folder: Path, pairs: Path, tmp_path: Path, told: Callable[..., str]
):
    DAMAGES["half of the layers"][0](folder)
    rows = [{"text": f"{word} {n}", "label": word} for word in "ab" for n in range(8)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tune = ("--train", "rows.jsonl", "--test", "rows.jsonl", "--shots", "2", "--runs", 1)
    assert "16 missing" in told("dial-embed", "--model", folder, "-o", "e.parquet")
    assert "16 missing" in told("dial-train", "--model", folder, "-o", "new", pairs)
    assert "16 missing" in told("dial-eval", "finetune", "intent", "--model", folder, *tune)
    assert {file.name for file in tmp_path.iterdir()} == {"model", "rows.jsonl"}


def test_vectors_that_are_no_numbers_are_not_written(
    folder: Path, tmp_path: Path, told: Callable[..., str]
):
    tensors(lambda t: {**t, LAYER: t[LAYER] * float("nan")})(folder)
    assert "not finite" in told("dial-embed", "--model", folder, "-o", "e.parquet")
    assert not (tmp_path / "e.parquet").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "does not hold the mean and the matrix"),
        ({"mean": torch.zeros(64)}, "does not hold the mean and the matrix"),
        ({"mean": torch.zeros(3), "matrix": torch.zeros(64, 64)}, "the mean and the matrix"),
        ({"mean": torch.zeros(3), "matrix": torch.zeros(3, 3)}, "3 dimensions"),
    ],
)
def test_a_transform_of_other_shapes_is_told(
    folder: Path, tmp_path: Path, told: Callable[..., str], content: dict[str, Any], words: str
):
    facts = {"schema": "dialtools.transform/1", "kind": "whiten", "pooling": "mean"}
    facts |= {"weights": load_encoder(str(folder)).digest(), "normalize": False}
    save_file(content, tmp_path / "t.safetensors", metadata={"dialtools": json.dumps(facts)})
    assert words in told("dial-embed", "--model", folder, "--transform", "t.safetensors")
    facts["kind"] = "flow"
    save_file(content, tmp_path / "t.safetensors", metadata={"dialtools": json.dumps(facts)})
    assert "missing" in told("dial-embed", "--model", folder, "--transform", "t.safetensors")


def test_a_start_that_does_not_fit_is_told_before_a_pair_is_read(
    scripts: Path, folder: Path, tmp_path: Path
):
    DAMAGES["one shape"][0](folder)
    train = [scripts / "dial-train", "--model", folder, "-o", tmp_path / "trained"]
    done = ended(*train, code=1, input=b"no pair\n")
    assert "not the weights of this model" in done.stderr.decode()
    assert not list(tmp_path.glob("trained*"))

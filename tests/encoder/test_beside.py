"""What lies beside weights: settings of a stranger, heads, the start that a model descends from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from dialtools.encoder import guest, sidefile, weights
from dialtools.encoder.alignment import alignment_layer, load_alignment, save_alignment
from dialtools.encoder.descent import beside_weights, content, descends
from dialtools.encoder.device import autocast, choose_device, choose_precision
from dialtools.encoder.kept_head import load_head, save_heads
from dialtools.encoder.panic import as_error
from dialtools.encoder.sidefile import SideFile, as_json, read_side_file, stays_inside
from dialtools.encoder.stated import (
    cut_left_out,
    is_static,
    plain,
    prompt_left_out,
    read_modules,
    read_stated,
)
from dialtools.encoder.tokens import SpecialTokens
from dialtools.encoder.weights import describe_misfit, fill, merged
from dialtools.errors import ConfigError, ModelError
from dialtools.streams.provenance import digest


def written(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


# settings, field by field


def test_a_field_has_exactly_its_type_and_none_is_none(tmp_path: Path):
    table = {"n": 1, "zero": 0, "yes": True, "real": 1.0, "text": "a", "in": {"n": -1}, "no": None}
    told = SideFile.read(written(tmp_path / "c.json", table))
    assert (told.count("n"), told.count("zero", least=0), told.count("other")) == (1, 0, None)
    assert (told.flag("yes"), told.flag("no"), told.flag("other")) == (True, False, False)
    assert (told.text("text"), told.text("no"), told.path_within("no")) == ("a", None, "")
    assert told.tables("other").table == {} and told.tables("in").table == {"n": -1}
    for wrong, says in (
        (lambda: told.count("zero"), r"^\S+: zero: expected a whole number from 1 on, got 0$"),
        (lambda: told.count("yes"), "yes: expected a whole number from 1 on, got true"),
        (lambda: told.count("real"), "real: .* got 1.0"),
        (lambda: told.flag("n"), "n: expected true or false, got 1"),
        (lambda: told.text("n"), "n: expected a text"),
        (lambda: told.tables("n"), "n: expected an object"),
        (lambda: told.tables("in").count("n", least=0), r": in\.n: expected .* from 0 on, got -1"),
    ):
        with pytest.raises(ModelError, match=says):
            wrong()


def test_a_file_of_settings_is_one_object_of_no_more_than_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sidefile, "LARGEST", 9)
    assert read_side_file(tmp_path / "none") is None and read_side_file(tmp_path) is None
    assert SideFile.read(tmp_path / "none").table == {}
    assert SideFile.read(written(tmp_path / "x", '{"a":123}')).table == {"a": 123}
    for text, says in (
        ('{"a":1234}', "larger than"),
        ("[1]", r"expected an object, got \[1\]"),
        ("[]", "expected an object"),
        ("{", "not JSON: "),
    ):
        with pytest.raises(ModelError, match=says):
            SideFile.read(written(tmp_path / "x", text))
    monkeypatch.setattr(sidefile, "LARGEST", 1 << 20)
    with pytest.raises(ModelError, match="nested too deep"):
        read_side_file(written(tmp_path / "x", "[" * 200_000))


@pytest.mark.parametrize(
    ("path", "inside"),
    [("", 1), ("a/b", 1), ("a..b", 1), ("/a", 0), ("../a", 0), ("a/..", 0), ("a\\b", 0), ("\0", 0)],
)
def test_a_path_that_a_file_states_stays_in_its_folder(path: str, inside: int, tmp_path: Path):
    assert stays_inside(path) is bool(inside)
    told = SideFile(tmp_path / "c.json", {"path": path})
    if inside:
        assert told.path_within("path") == path
    else:
        with pytest.raises(ModelError, match="path: expected a path inside the folder"):
            told.path_within("path")


def test_a_wrong_value_is_repeated_to_its_fortieth_character():
    assert as_json("x" * 38) == f'"{"x" * 38}"' and as_json(["é"]) == '["é"]'
    assert as_json("x" * 39) == f'"{"x" * 39}'[:40] + "..."


# modules, pooling, length

TRANSFORMER = {"type": "sentence_transformers.models.Transformer", "path": "0"}
POOLING = {"type": "sentence_transformers.any.where.Pooling", "path": "1_Pooling"}


def test_modules_are_known_by_the_end_of_their_type_and_64_at_most(tmp_path: Path):
    path = tmp_path / "modules.json"
    assert read_modules(path) == {}
    assert read_modules(written(path, [TRANSFORMER, {"type": "Pooling"}])) == {
        "Transformer": "0",
        "Pooling": "",
    }
    assert len(read_modules(written(path, [{"type": str(i)} for i in range(64)]))) == 64
    for theirs in ("custom_st.Transformer", "sentence_transformers_x.Pooling"):
        assert list(read_modules(written(path, [{"type": theirs}]))) == [theirs]
    for value, says in (
        ([{"type": str(i)} for i in range(65)], "a list of 1 to 64 modules"),
        ([], "a list of 1 to 64 modules"),
        ({"type": "Pooling"}, "a list of 1 to 64 modules"),
        ([TRANSFORMER, "Pooling"], r"\[1\]: expected an object"),
        ([TRANSFORMER, {"path": "x"}], r"\[1\]\.type: expected a text, got null"),
        ([TRANSFORMER, {"type": "x", "path": ".."}], r"\[1\]\.path: expected a path inside"),
    ):
        with pytest.raises(ModelError, match=says):
            read_modules(written(path, value))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of sentence-transformers, without weights."""
    for name in ("0", "1_Pooling"):
        (tmp_path / name).mkdir()
    written(tmp_path / "modules.json", [TRANSFORMER, POOLING, {"type": "Normalize"}])
    written(
        tmp_path / "1_Pooling" / "config.json",
        {"word_embedding_dimension": 7, "pooling_mode": "mean"},
    )
    written(tmp_path / "0" / "sentence_xlnet_config.json", {"max_seq_length": 5})
    return tmp_path


@pytest.mark.parametrize("number", [0, 1])
def test_a_module_of_a_models_own_code_is_not_taken_for_one_of_that_name(folder: Path, number: int):
    modules = [TRANSFORMER, POOLING]
    own = f"their_own.{modules[number]['type'].rsplit('.')[-1]}"
    modules[number] = modules[number] | {"type": own}
    written(folder / "modules.json", modules)
    with pytest.raises(ModelError, match=f'"{own}": a module that is not known here'):
        read_stated(folder)
    assert read_stated(folder, pooling="mean").pooling is None


def test_what_a_folder_states(folder: Path):
    least = read_stated(folder)
    assert (least.transformer, least.static) == (folder / "0", False)
    assert (least.pooling, least.max_length) == ("mean", 5)
    assert least.max_length_file == folder / "0" / "sentence_xlnet_config.json"
    assert (least.dimension, least.normalize) == (7, True)
    assert (least.lower_case, least.speaker_tokens) == (False, False)
    assert least.modules == {"Transformer": "0", "Pooling": "1_Pooling", "Normalize": ""}
    written(folder / "0" / "sentence_roberta_config.json", {"max_seq_length": 9})
    written(folder / "0" / "sentence_distilbert_config.json", {"max_seq_length": 8})
    written(folder / "dialtools.json", {"options": {"speaker-tokens": True}})
    told = read_stated(folder, pooling="max")
    assert (told.max_length, told.lower_case, told.speaker_tokens) == (9, False, True)
    assert told.max_length_file == folder / "0" / "sentence_roberta_config.json"
    assert (told.pooling, told.dimension, told.modules, told.normalize) == (None, None, {}, True)
    written(folder / "0" / "sentence_bert_config.json", {"do_lower_case": True})
    assert read_stated(folder).lower_case and read_stated(folder).max_length is None
    (folder / "modules.json").unlink()
    bare = read_stated(folder, pooling="mean")  # lengths go with modules
    assert (bare.transformer, bare.normalize, bare.lower_case) == (folder, False, False)


@pytest.mark.parametrize(
    ("stated", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True}, "last"),
        ({"pooling_mode": "lasttoken"}, "last"),
        ({"pooling_mode": "max"}, "max"),
        ({"pooling_mode_max_tokens": True, "pooling_mode_cls_token": True}, "2 poolings at once"),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, "mean_sqrt_len_tokens: a pooling that is"),
        ({"pooling_mode": "median"}, '"median": a pooling that is not known here'),
    ],
)
def test_a_pooling_goes_by_its_old_and_its_new_name(folder: Path, stated: dict, pooling: str):
    written(folder / "1_Pooling" / "config.json", stated)
    if " " not in pooling:
        assert read_stated(folder).pooling == pooling
        return
    with pytest.raises(ModelError, match=pooling):
        read_stated(folder)
    assert read_stated(folder, pooling="cls").pooling is None


def test_a_pooling_that_modules_name_and_a_copy_has_lost_is_not_chosen_for_it(folder: Path):
    (folder / "1_Pooling" / "config.json").unlink()
    with pytest.raises(ModelError, match=r'no config\.json in its folder "1_Pooling"'):
        read_stated(folder)
    assert read_stated(folder, pooling="cls").transformer == folder / "0"
    written(folder / "config.json", {})  # of the transformer, which a pooling without path is not
    written(folder / "modules.json", [TRANSFORMER, {"type": "Pooling"}])
    with pytest.raises(ModelError, match=r'no config\.json in its folder ""'):
        read_stated(folder)
    (folder / "modules.json").unlink()
    with pytest.raises(ModelError, match=r"no modules\.json, .* beside 1_Pooling"):
        read_stated(folder)
    (folder / "1_Pooling").rmdir()
    assert read_stated(folder).pooling is None  # a plain model of transformers
    for left in ("sentence_bert_config.json", "config_sentence_transformers.json"):
        written(folder / left, {})
        with pytest.raises(ModelError, match=rf"no modules\.json, .* beside {left}"):
            read_stated(folder)
    assert read_stated(folder, pooling="cls").transformer == folder


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        (["Transformer", "Normalize"], "no Pooling among its modules"),
        (["Transformer", "Pooling", "Pooling"], '"Pooling" stands there twice'),
        (["Transformer", "Transformer", "Pooling"], '"Transformer" stands there twice'),
        (["Pooling", "Transformer"], '"Pooling" stands before "Transformer"'),
        (["Dropout", "Transformer", "Dropout", "Pooling"], ""),
    ],
)
def test_modules_stand_once_each_and_the_encoder_first(folder: Path, kinds: list[str], says: str):
    paths = {"Transformer": "0", "Pooling": "1_Pooling"}
    written(folder / "modules.json", [{"type": k, "path": paths.get(k, "")} for k in kinds])
    if not says:
        assert read_stated(folder).pooling == "mean"
        return
    with pytest.raises(ModelError, match=says):
        read_stated(folder)


@pytest.mark.parametrize("config", [{}, {"word_embedding_dimension": 7}, {"pooling_mode": None}])
def test_a_pooling_that_states_none_is_not_chosen_for_it(folder: Path, config: dict):
    written(folder / "1_Pooling" / "config.json", config)
    with pytest.raises(ModelError, match="states no pooling"):
        read_stated(folder)


def test_a_length_that_a_copy_has_lost_is_not_chosen_for_it(folder: Path):
    (folder / "0" / "sentence_xlnet_config.json").unlink()
    with pytest.raises(ModelError, match=r"0: no sentence_bert_config\.json, which tells how long"):
        read_stated(folder)
    assert read_stated(folder, pooling="cls").max_length is None


def test_a_prompt_that_others_put_before_texts_is_told(folder: Path):
    assert prompt_left_out(folder) == ""
    usage = {"prompts": {"query": "query: ", "document": ""}, "default_prompt_name": "query"}
    written(folder / "config_sentence_transformers.json", usage)
    assert '"query: "' in prompt_left_out(folder)
    for name in ("document", None):
        usage["default_prompt_name"] = name
        written(folder / "config_sentence_transformers.json", usage)
        assert prompt_left_out(folder) == ""


def test_dimensions_that_others_leave_out_are_told(folder: Path):
    assert cut_left_out(folder, 384) == ""
    written(folder / "config_sentence_transformers.json", {"truncate_dim": 100})
    assert "keeps the first 100: --dimensions 100" in cut_left_out(folder, 384)
    assert cut_left_out(folder, 100) == ""


def test_a_pooling_of_layers_is_named_by_us_and_needs_its_modules(folder: Path):
    assert [plain(name) for name in ("cls-pooler", "last2-avg", "last")] == ["cls", "mean", "last"]
    written(folder / "1_Pooling" / "config.json", {"pooling_mode": "mean"})
    layers = {"type": "WeightedLayerPooling", "path": "1_Pooling"}
    written(folder / "dialtools.json", {"pooling": "last2-avg"})
    assert read_stated(folder).pooling == "mean"
    written(folder / "modules.json", [TRANSFORMER, layers, POOLING])
    assert read_stated(folder).pooling == "last2-avg"
    for other in ("cls-pooler", "mean", "unheard", 3):
        written(folder / "dialtools.json", {"pooling": other})
        with pytest.raises(ModelError, match=r"WeightedLayerPooling.*not known here"):
            read_stated(folder)
    written(folder / "dialtools.json", {"pooling": "last2-avg"})
    written(folder / "1_Pooling" / "config.json", {"pooling_mode": "cls"})
    assert read_stated(folder).pooling == "cls"


def test_a_static_encoder_is_known_by_its_module_or_by_model2vecs_configuration(folder: Path):
    assert not is_static(folder)
    written(folder / "modules.json", [{"type": "StaticEmbedding", "path": "0"}])
    assert is_static(folder) and read_stated(folder).transformer == folder / "0"
    written(folder / "config.json", {"model_type": "model2vec", "normalize": True})
    assert read_stated(folder).normalize
    written(folder / "modules.json", [TRANSFORMER, POOLING])
    assert not is_static(folder) and not read_stated(folder).normalize
    (folder / "modules.json").unlink()
    assert is_static(folder) and read_stated(folder).normalize
    written(folder / "modules.json", "{")
    assert not is_static(folder)


# heads


def test_heads_are_kept_by_name_with_their_layers(tmp_path: Path):
    torch.manual_seed(0)
    deep = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2, bias=False), nn.Tanh())
    heads = {"shared": deep, "2": nn.Linear(3, 4)}
    save_heads(heads, tmp_path)
    rows = torch.randn(6, 3)
    for name, head in heads.items():
        kept = load_head(tmp_path, name)
        torch.testing.assert_close(kept(rows), head(rows), rtol=0, atol=0)
        assert not kept.training and not any(p.requires_grad for p in kept.parameters())
    with pytest.raises(ConfigError, match="--head '3': there are shared, 2"):
        load_head(tmp_path, "3")
    with pytest.raises(ConfigError, match="has no head"):
        load_head(tmp_path / "elsewhere", "2")


@pytest.mark.parametrize(
    ("about", "says"),
    [
        (None, "does not tell the layers"),
        ("[" * 100_000, "does not tell the layers"),
        ({"schema": "dialtools.head/2", "heads": {"a": ["linear"]}}, "does not tell the layers"),
        ({"schema": "dialtools.head/1", "heads": ["linear"]}, "does not tell the layers"),
        ({"schema": "dialtools.head/1", "heads": {"a": ["gelu"]}}, "layer 0 is none that is known"),
        ({"schema": "dialtools.head/1", "heads": {"a": ["relu", "linear"]}}, "layer 1 is none"),
        ({"schema": "dialtools.head/1", "heads": {"a": ["linear", "flat"]}}, "layer 1 is none"),
        ({"schema": "dialtools.head/1", "heads": {"a": ["linear"]}}, "1 too many .2.weight"),
    ],
)
def test_a_head_that_is_not_told_whole_is_refused(tmp_path: Path, about: Any, says: str):
    tensors = {"a.0.weight": torch.ones(2, 3), "a.2.weight": torch.ones(2)}
    told = about if isinstance(about, str) else json.dumps(about)
    metadata = {"dialtools": told} if about else None
    save_file(tensors, tmp_path / "head.safetensors", metadata=metadata)
    with pytest.raises(ModelError, match=says):
        load_head(tmp_path, "a")


def test_an_alignment_layer_is_a_linear_one_and_tanh_kept_beside_the_model(tmp_path: Path):
    layer, again, other = (alignment_layer(5, seed=seed) for seed in (1, 1, 2))
    rows = torch.randn(4, 5)
    assert torch.equal(layer(rows), again(rows)) and not torch.equal(layer(rows), other(rows))
    weight, bias = layer.state_dict().values()
    torch.testing.assert_close(layer(rows), torch.tanh(rows @ weight.T + bias))
    assert load_alignment(tmp_path, 5) is None
    save_alignment(layer, tmp_path)
    kept = load_alignment(tmp_path, 5)
    assert kept is not None and torch.equal(kept(rows), layer(rows)) and not kept.training
    with pytest.raises(ModelError, match=r"alignment\.safetensors: not the weights of this model"):
        load_alignment(tmp_path, 6)


# descent


def fresh(seed: int, inputs: list, steps: int, **options: object) -> dict:
    """What a run from nothing tells of itself."""
    told = {"command": "dial-train", "options": {"seed": seed, **options}, "inputs": inputs}
    return told | {"counts": {"steps": steps}}


def test_a_model_descends_from_the_weights_that_it_tells_or_from_the_same_nothing(tmp_path: Path):
    def model(name: str, told: dict | None, **files: str) -> Path:
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file.replace("_", ".")).write_text(text)
        if told is not None:
            written(tmp_path / name / "dialtools.json", told)
        return tmp_path / name

    start = model("start", None, model_safetensors="a", config_json="{}", card_txt="")
    described = content(start)
    assert described.split() == [
        f"{name}:{digest(start / name)[:8]}" for name in ("config.json", "model.safetensors")
    ]
    (start / "added_tokens.json").write_text("{}")
    assert content(start).partition(":")[0] == "added_tokens.json"
    words = start / "model.safetensors"
    assert content(words) == f"model.safetensors:{digest(words)[:8]}"

    assert descends(model("silent", None), start, described)
    assert descends(model("of another command", {"command": "x"}), start, described)
    assert descends(model("child", {"start": described}), start, described)
    weights_alone = described.split()[1]  # a tokenizer may have got tokens
    assert descends(model("token", {"start": f"config.json:0 {weights_alone}"}), start, described)
    stranger = model("stranger", {"start": "model.safetensors:00000000"})
    assert not descends(stranger, start, described)

    child = model("fresh child", fresh(3, [{"name": "p"}], 80))
    for i, (told, related) in enumerate(
        (
            (fresh(3, [{"name": "p"}], 0), True),
            (fresh(3, [{"name": "p"}], 1), False),
            (fresh(4, [{"name": "p"}], 0), False),
            (fresh(3, [{"name": "q"}], 0), False),
            (fresh(3, [{"name": "p"}], 0, model="m"), False),
        )
    ):
        assert descends(child, model(str(i), told), "model.safetensors:1") is related, told
    assert descends(model("of a model", fresh(3, [], 8, model="m")), start, described)


@pytest.mark.parametrize("name", ["head.safetensors", "alignment.safetensors"])
def test_layers_behind_the_encoder_are_no_part_of_its_weights_and_are_told_beside(
    tmp_path: Path, name: str
):
    (tmp_path / "model.safetensors").write_text("a")
    (tmp_path / name).write_text("a")
    before, whole = beside_weights(tmp_path), content(tmp_path)
    (tmp_path / name).write_text("b")
    assert beside_weights(tmp_path) != before and content(tmp_path) != whole
    assert whole.count(name) == 1


def test_an_encoder_in_a_folder_of_a_model_is_what_a_model_descends_from(tmp_path: Path):
    start, modules = tmp_path / "start", ("0_Transformer", "1_Pooling", "2_Dense")
    for name in (*modules, "onnx"):
        (start / name).mkdir(parents=True)
        (start / name / "model.safetensors").write_text(name)
    listed = [{"type": name[2:], "path": name} for name in modules]
    written(start / "modules.json", listed)
    written(start / "0_Transformer" / "tokenizer.json", "{}")
    names = [word.partition(":")[0] for word in content(start).split()]
    own = ["model.safetensors", "tokenizer.json"]
    assert names == [*own, *(f"{n}/model.safetensors" for n in modules[1:]), "modules.json"]

    for told, related in ((content(start).split()[0], True), ("model.safetensors:0", False)):
        child = tmp_path / told
        child.mkdir()
        written(child / "dialtools.json", {"start": told})
        assert descends(child, start, content(start)) is related


# weights


def test_tensors_are_merged_in_float64_block_by_block(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(weights, "BLOCK", 4)
    start, one, two = torch.randn(3, 3, 5, generator=torch.Generator().manual_seed(0)).unbind()
    found = merged(start, [(one, 0.5), (two, -2.0)])
    slow = start.double() + 0.5 * (one.double() - start) - 2 * (two.double() - start)
    torch.testing.assert_close(found, slow.float(), rtol=0, atol=0)
    assert torch.equal(merged(start, [(one, 1.0)]), one)
    numbers = torch.arange(3)
    kept = merged(numbers, [(numbers + 1, 1.0)])
    assert torch.equal(kept, numbers) and kept is not numbers
    turned = merged(start.T, [(one.T, 1.0)])
    assert torch.equal(turned, one.T)


def test_a_module_takes_the_tensors_that_it_has_and_no_others():
    layer, other = nn.Linear(3, 2), nn.Linear(3, 2)
    fill(layer, other.state_dict(), where="f")
    assert torch.equal(layer.weight, other.weight) and torch.equal(layer.bias, other.bias)
    for tensors, says in (
        ({"weight": torch.ones(2, 3)}, r"1 missing \(bias\)"),
        ({**other.state_dict(), "x": torch.ones(1)}, r"1 too many \(x\)"),
        ({**other.state_dict(), "bias": torch.ones(3)}, r"another shape \(bias 3, not 2\)"),
    ):
        with pytest.raises(ModelError, match=f"not the weights of this model: .*{says}"):
            fill(layer, tensors, where="f")
    assert describe_misfit() == ""
    shapes = {"b" * 99: ((2, 3), (3, 2)), "a": ((), (1,))}
    assert describe_misfit(missing="cab", unexpected="fedgh", shapes=shapes) == (
        f"3 missing (a, b, c); 2 of another shape (a one number, not 1, {'b' * 80} 2x3, not 3x2); "
        "5 too many (d, e, f and 2 more)"
    )
    assert describe_misfit(unexpected="fedg") == "4 too many (d, e, f, g)", "1 more is named"


# the machine


class PanicException(BaseException):
    """What libraries in Rust raise, by name alone."""


def test_a_panic_is_an_error_like_others_and_stderr_is_back_after_any(capfd: pytest.CaptureFixture):
    def fails(error: BaseException) -> None:
        with as_error():
            os.write(2, b"thread panicked")
            raise error

    place, open_files = os.fstat(2).st_ino, sorted(Path("/proc/self/fd").iterdir())
    for error, kind in ((PanicException("no\nmore"), ValueError), (KeyError("x"), KeyError)):
        with pytest.raises(kind, match=r"no$|x"):
            fails(error)
    with as_error():
        os.write(2, b"quiet")
    assert os.fstat(2).st_ino == place and sorted(Path("/proc/self/fd").iterdir()) == open_files
    os.write(2, b"loud")
    assert capfd.readouterr().err == "loud"


def test_a_device_is_there_or_is_refused_and_auto_takes_what_there_is(
    monkeypatch: pytest.MonkeyPatch,
):
    assert choose_device("cpu").type == "cpu"
    for there, kind in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert choose_device("auto").type == kind
    with pytest.raises(ConfigError, match=r"--device toaster: not available here \("):
        choose_device("toaster")
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    for name, device, precision in (
        ("auto", cuda, "bfloat16"),
        ("auto", cpu, "float32"),
        ("bfloat16", cpu, "bfloat16"),
        ("float32", cuda, "float32"),
    ):
        assert choose_precision(name, device) == precision
    for precision in ("float32", "bfloat16"):
        with autocast(cpu, precision):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == getattr(torch, precision)


def test_processes_share_the_threads_and_what_the_user_has_set_stays(
    monkeypatch: pytest.MonkeyPatch,
):
    asked: list[int] = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 6)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    mine, other = guest.ENVIRONMENT
    monkeypatch.setenv(mine, "mine")
    monkeypatch.delenv(other, raising=False)
    for threads, processes in ((None, 1), (None, 4), (None, 9), (3, 2)):
        guest.start_torch(threads, processes=processes)
    assert asked == [6, 1, 1, 3]
    assert (guest.os.environ[mine], guest.os.environ[other]) == ("mine", guest.ENVIRONMENT[other])


@pytest.mark.parametrize(
    ("ids", "sep", "eos", "pad", "expected"),
    [
        ([1, 5, 6, 2], 2, 9, 0, ([1], [2], [2], 0)),
        ([1, 5, 6], None, 9, None, ([1], [], [9], 9)),
        ([5, 6, 3, 4], 0, None, None, ([], [3, 4], [0], 0)),
        ([5, 6], None, None, None, ([], [], [10], 0)),
    ],
)
def test_what_a_tokenizer_puts_around_and_between_is_found_by_asking(ids, sep, eos, pad, expected):
    def ask(text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        bare = [5, 6] if text == "a" else [10]
        return {"input_ids": ids if add_special_tokens else bare}

    asked: Any = type("", (), {"__call__": staticmethod(ask)})()
    asked.sep_token_id, asked.eos_token_id, asked.pad_token_id = sep, eos, pad
    special = SpecialTokens.of(asked)
    around = (special.prefix, special.suffix, special.separator)
    assert (*(row.tolist() for row in around), special.pad) == expected
    assert not special.earlier and special.prefix.dtype == np.int32

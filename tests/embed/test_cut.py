"""dialtools cut: the first layers of a model, as a model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pair_corpus import as_lines, pair_records

from dialtools.embed.cut import load_cut, write_cut
from dialtools.embed.derived_options import CutOptions
from dialtools.encoder.batches import pad
from dialtools.encoder.depth import cut
from dialtools.encoder.descent import content
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.modeldir import save
from dialtools.errors import ConfigError
from dialtools.metrics.space import unit

Run = Callable[..., subprocess.CompletedProcess]
SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
KINDS: dict[str, tuple[dict[str, Any], str | None]] = {
    "BertModel": (SIZES, None),
    "RobertaModel": (SIZES, None),
    "DistilBertModel": ({"vocab_size": 50, "dim": 32, "n_layers": 4, "n_heads": 2}, None),
    "ModernBertModel": (SIZES | {"pad_token_id": 0, "global_attn_every_n_layers": 2}, "final_norm"),
    "T5EncoderModel": (
        {"vocab_size": 50, "d_model": 32, "num_layers": 4, "num_heads": 2, "d_kv": 16, "d_ff": 32},
        "encoder.final_layer_norm",
    ),
    "GPT2Model": ({"vocab_size": 50, "n_embd": 32, "n_layer": 4, "n_head": 2}, "ln_f"),
    "Qwen2Model": (SIZES | {"num_key_value_heads": 1}, "norm"),
    "LongformerModel": (SIZES | {"attention_window": [4, 4, 8, 8]}, None),
    "Gemma2Model": (SIZES | {"num_key_value_heads": 1, "head_dim": 16}, "norm"),
}
"""A kind of model with its configuration, and the norm that follows its last layer."""


def tiny(kind: str, config: dict[str, Any]) -> Any:
    import transformers

    torch.manual_seed(0)
    model = getattr(transformers, kind)
    return model(model.config_class(**config)).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_it_gives_what_the_whole_model_has_behind_that_layer(kind: str, tmp_path: Path):
    config, norm = KINDS[kind]
    whole = tiny(kind, config)
    ids = torch.randint(1, 50, (2, 16))
    with torch.inference_mode():
        expected = whole(input_ids=ids, output_hidden_states=True).hidden_states[3]
        expected = whole.get_submodule(norm)(expected) if norm else expected
    cut(whole, 3)
    whole.save_pretrained(tmp_path)
    again = type(whole).from_pretrained(tmp_path).eval()
    with torch.inference_mode():
        for model in (whole, again):
            found = model(input_ids=ids).last_hidden_state
            np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-6)


def test_a_cut_model_keeps_its_speaker_tokens_and_tells_its_start(tmp_path: Path):
    whole = fresh_encoder(train_tokenizer(["a b c"], vocab_size=99), hidden=16, layers=2)
    whole.use_speaker_tokens()
    start, first = tmp_path / "start", tmp_path / "first"
    start.mkdir()
    save(whole, start, provenance={"options": {"speaker-tokens": True}}, card="")
    options = CutOptions(model=str(start), output=str(first), layers=1)
    first.mkdir()
    write_cut(first, load_cut(options), options, {"options": {}})
    assert load_encoder(str(first)).role_tokens == whole.role_tokens
    assert json.loads((first / "dialtools.json").read_text())["start"] == content(start)


def test_layers_that_share_their_weights_are_not_cut():
    albert = tiny("AlbertModel", SIZES | {"embedding_size": 8})
    with pytest.raises(ConfigError, match="the layers of the encoder are not kept apart"):
        cut(albert, 2)


@pytest.fixture
def deep(call: Run, train: Any, pairs: Path, tmp_path: Path) -> Path:
    """A model of three layers whose rare tokens count more, centred."""
    train("--layers", 3, "--max-steps", 1, "-o", tmp_path / "plain", pairs)
    texts = [{"text": record["response"]} for record in pair_records(40)]
    (tmp_path / "texts.jsonl").write_bytes(as_lines(texts))
    call("dialtools weigh --model plain texts.jsonl -o weighed")
    call("dialtools center --model weighed texts.jsonl -o deep")
    return tmp_path / "deep"


def test_a_model_is_cut_and_others_read_it(call: Run, deep: Path, tmp_path: Path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    done = call("dialtools cut --layers 2 --model deep -o two")
    assert done.stdout == b"two\n" and b"two: 2 layers x 64" in done.stderr
    assert b"centre of deep left out" in done.stderr
    whole, two = (load_encoder(str(tmp_path / name)).eval() for name in ("deep", "two"))
    assert two.center is None and torch.equal(two.token_weights, whole.token_weights)
    texts = ["a table for two", "yes"]
    ids_NT, mask_NT = pad([two.tokenizer(text)["input_ids"] for text in texts], two.special)
    with torch.inference_mode():
        states = whole.backbone(input_ids=ids_NT, attention_mask=mask_NT, output_hidden_states=True)
        weights_NT1 = whole.weights_of(ids_NT, mask_NT)[..., None]
        average = (states.hidden_states[2] * weights_NT1).sum(1) / weights_NT1.sum(1)
        np.testing.assert_allclose(two(ids_NT, mask_NT), average, atol=1e-5)
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "two"), device="cpu")
    np.testing.assert_allclose(theirs.encode(texts), unit(average.numpy()), atol=1e-5)
    facts = json.loads((tmp_path / "two" / "dialtools.json").read_text())
    assert (facts["command"], facts["inputs"]) == ("dialtools cut", [])
    assert facts["parents"][0]["provenance"]["command"] == "dialtools center"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--layers 1 --model small", "--layers 1: the encoder has 1 layer, and none behind"),
        ("--model small", "--layers N is needed"),
        ("--layers 0 --model small", "must be 1 or more"),
        ("--layers 1 --model static", "a static encoder has no layers"),
        ("--layers 1 --model words.txt", "a file of word vectors has no layers"),
    ],
)
def test_what_cannot_be_cut_is_told(
    flags: str, says: str, call: Run, model: Path, train: Any, pairs: Path, tmp_path: Path
):
    (tmp_path / "words.txt").write_text("a 1 2\n")
    (tmp_path / "small").symlink_to(model)
    if "static" in flags:
        train("--max-steps", 0, "-o", tmp_path / "static", pairs, small=False)
    done = call(f"dialtools cut {flags} -o cut", code=2)
    assert says in done.stderr.decode() and not (tmp_path / "cut").exists()

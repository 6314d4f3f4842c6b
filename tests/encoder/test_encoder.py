"""The encoder: batches, special tokens, pooling, fresh encoders, model directories."""

from __future__ import annotations

import copy
import itertools
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles.slow_tokens import assemble
from safetensors.torch import load_file, save_file

from dialtools.encoder.batches import pad, token_batches
from dialtools.encoder.catalog import POOLINGS
from dialtools.encoder.device import slower_precision
from dialtools.encoder.encode import encode
from dialtools.encoder.encoder import Encoder, positions
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.modeldir import save
from dialtools.encoder.options import DeviceOptions
from dialtools.encoder.pretrained import (
    _check_numbers,
    check_tokenizer,
    look_over,
    quiet_transformers,
)
from dialtools.encoder.randomness import seeded
from dialtools.encoder.sequences import sequences_of
from dialtools.encoder.sidefile import SideFile
from dialtools.encoder.static import fresh_static
from dialtools.encoder.static_start import of_words
from dialtools.encoder.token_vectors import UNBOUNDED
from dialtools.encoder.tokens import SpecialTokens, join_turns, tokenise
from dialtools.encoder.word_vectors import WordVectors
from dialtools.errors import ConfigError, ModelError

TEXTS = [
    "a table for two please",
    "thank you!",
    "订一张桌子",
    "שלום עולם",
    "🙂 ok",
    "i need a train to leeds",
]


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(1, 200))
def test_batches_hold_each_row_once_within_the_budget(lengths, budget):
    lengths = np.array(lengths, np.int64)
    groups = token_batches(lengths, max_tokens=budget)
    assert sorted(np.concatenate(groups).tolist() if groups else []) == list(range(len(lengths)))
    assert all(len(g) == 1 or len(g) * lengths[g].max() <= budget for g in groups)


@given(st.lists(st.integers(0, 60), max_size=80), st.integers(1, 200))
def test_batches_without_padding_hold_each_row_once_within_the_budget(lengths, budget):
    lengths = np.array(lengths, np.int64)
    groups = token_batches(lengths, max_tokens=budget, packed=True)
    assert sorted(np.concatenate(groups).tolist() if groups else []) == list(range(len(lengths)))
    for g in groups:
        assert len(g) == 1 or lengths[g].sum() <= budget
        assert len(g) == 1 or len(g) * lengths[g].max() <= 4 * budget


def test_batches_without_padding_are_full_of_real_tokens():
    groups = token_batches(np.array([3, 5, 3, 1, 5, 9]), max_tokens=10, packed=True)
    assert [group.tolist() for group in groups] == [[5], [1, 4], [0, 2, 3]]
    groups = token_batches(np.array([8, 3, 3, 3, 3]), max_tokens=20, packed=True)
    assert [group.tolist() for group in groups] == [[0, 1, 2, 3, 4]]


def test_pooling_ignores_padding_on_either_side():
    hidden = torch.tensor([[[1.0], [3.0], [100.0]], [[100.0], [2.0], [6.0]]])
    mask = torch.tensor([[1, 1, 0], [0, 1, 1]])
    pooled = {
        name: entry.load()(hidden, mask).flatten().tolist() for name, entry in POOLINGS.items()
    }
    simple = {"mean": [2, 4], "cls": [1, 2], "max": [3, 6], "last": [3, 6]}
    of_more = {"cls-pooler": [1, 2], "first-last-avg": [2, 4], "last2-avg": [2, 4]}
    assert pooled == simple | of_more


def test_a_text_of_no_token_has_a_mean_of_nothing():
    hidden = torch.tensor([[[1.0], [3.0]], [[5.0], [6.0]]])
    mask = torch.tensor([[0, 0], [1, 0]])
    assert POOLINGS["mean"].load()(hidden, mask).tolist() == [[0], [5]]


def test_batches_are_of_like_length_the_longest_first_and_ties_in_their_order():
    groups = token_batches(np.array([3, 5, 3, 1, 5, 9]), max_tokens=10)
    assert [group.tolist() for group in groups] == [[5], [1, 4], [0, 2, 3]]
    groups = token_batches(np.array([3, 5, 3, 1, 5, 9]), max_tokens=10, alike=True)
    assert [g.tolist() for g in groups] == [[5], [1, 4], [0, 2], [3]]
    groups = token_batches(np.array([0, 0, 2]), max_tokens=2)
    assert [group.tolist() for group in groups] == [[2], [0, 1]]
    assert token_batches(np.zeros(0, np.int64), max_tokens=2) == []


def test_padding_is_on_the_right_and_no_token_of_the_mask():
    special = SpecialTokens(np.int32([1]), np.int32([2]), np.int32([9]), 7)
    ids, mask = pad([np.int32([1, 5, 2]), np.int32([1])], special)
    assert ids.tolist() == [[1, 5, 2], [1, 7, 7]] and ids.dtype == torch.int64
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]] and mask.dtype == torch.int64


def test_turns_are_joined_and_cut_as_told():
    special = SpecialTokens(
        np.array([1], np.int32), np.array([2], np.int32), np.array([9], np.int32), 0
    )
    turns = [np.array([11, 12], np.int32), np.array([21, 22], np.int32)]
    assert assemble(turns, special, max_length=10)[0].tolist() == [1, 11, 12, 9, 21, 22, 2]
    assert assemble(turns, special, max_length=5)[0].tolist() == [1, 9, 21, 22, 2]
    assert assemble(turns, special, max_length=5, newest=False)[0].tolist() == [1, 11, 12, 9, 2]
    assert assemble(turns, special, max_length=10, roles=[7, 8])[0].tolist() == [
        1,
        7,
        11,
        12,
        8,
        21,
        22,
        2,
    ]


@pytest.mark.parametrize("newest", [True, False])
def test_a_sequence_that_fits_to_the_token_is_not_cut(newest: bool):
    special = SpecialTokens(np.int32([1, 3]), np.int32([2]), np.int32([9, 8]), 0)
    turns = [np.int32([11, 12]), np.int32([21])]
    whole = [1, 3, 11, 12, 9, 8, 21, 2]
    for room, cut in ((9, False), (8, False), (7, True)):
        sequence, told = assemble(turns, special, max_length=room, newest=newest)
        assert (len(sequence), told) == (min(room, 8), cut)
        assert sequence.tolist() == whole or cut
    sequence, told = assemble(turns, special, max_length=2, newest=newest)
    assert sequence.tolist() == [1, 3, 21 if newest else 11, 2] and told, "a token at least"


def test_a_text_keeps_its_beginning_and_turns_keep_their_end(small):
    said = [(("a table for two",), None), (("i need", "a train to leeds"), None)]
    whole, sizes, cut = sequences_of(small, said, 50)
    assert sizes.tolist() == [len(sequence) for sequence in whole] and not cut.any()
    text, turns = (sequence[1:-1].tolist() for sequence in whole)
    short, counts, told = sequences_of(small, said, 5)
    assert [sequence[1:-1].tolist() for sequence in short] == [text[:3], turns[-3:]]
    assert counts.tolist() == sizes.tolist() and told.all()
    assert sequences_of(small, said, len(whole[1]))[2].tolist() == [False, False]
    for newest, ends in ((True, (text[-3:], turns[-3:])), (False, (text[:3], turns[:3]))):
        cut, *_ = sequences_of(small, said, 5, newest=newest)
        assert [sequence[1:-1].tolist() for sequence in cut] == [*ends]


def test_a_tokenizer_learns_from_texts_of_which_one_is_many_blanks():
    words, blanks = "i need a table", " \t" * 80
    assert train_tokenizer([words, blanks], vocab_size=300).tokenize(words) == words.split()


def test_a_tokenizer_leaves_out_the_rarest_characters_not_the_last_of_the_alphabet(monkeypatch):
    monkeypatch.setattr("dialtools.encoder.fresh.ALPHABET", 2)
    tokenizer = train_tokenizer(["zz yz y", "z a"], vocab_size=1)
    assert tokenizer.tokenize("z y a") == ["z", "y", "[UNK]"]


def test_vowels_and_sounds_are_told_apart_in_every_script_and_no_text_is_one_unknown_word(
    tmp_path: Path,
):
    apart = ("हे है हूँ", "か が", "ดี ดา", "কি কী")
    alike = ("schön schon", "é e\u0301", "مَرْحَبًا مرحبا", "❤️ ❤", "ĐÈN đen")
    long = "ต้องการสอบถามเกี่ยวกับสถานะการจัดส่งสินค้า" * 4  # without a blank
    texts = [*apart, *alike, "한국어", long, f"{long}ครับ"] * 9
    made = fresh_encoder(train_tokenizer(texts, vocab_size=400), hidden=64, layers=1)
    save(made, tmp_path / "model", provenance={}, card="")
    told = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    assert told["tokenizer_class"] == "PreTrainedTokenizerFast"  # as transformers 4 knows it
    for tokenizer in (made.tokenizer, load_encoder(str(tmp_path / "model")).tokenizer):
        for words in (*apart, *alike):
            told = {tuple(tokenizer.tokenize(word)) for word in words.split()}
            assert len(told) == (1 if words in alike else len(words.split())), words
        assert tokenizer.tokenize("한국어") == ["한국어"]
        cut, more = tokenizer.tokenize(long), tokenizer.tokenize(f"{long}ครับ")
        assert "[UNK]" not in cut + more and cut != more


def test_speakers_are_told_by_their_tokens_and_who_is_unknown_is_the_system():
    encoder = fresh_encoder(train_tokenizer(TEXTS * 5, vocab_size=400), hidden=64, layers=1)
    plain = sequences_of(encoder, [(("ok", "ok", "ok"), (0, 1, 2))], 50)
    encoder.use_speaker_tokens(seed=3)
    user, system = encoder.tokenizer.convert_tokens_to_ids(["[USR]", "[SYS]"])
    assert encoder.role_tokens == (system, user, system)
    spoken, sizes, _ = sequences_of(encoder, [(("ok", "ok", "ok"), (0, 1, 2))], 50)
    ok = plain[0][0][1]
    assert spoken[0].tolist()[1:-1] == [system, ok, user, ok, system, ok] and sizes == [8]
    silent = sequences_of(encoder, [(("ok", "ok", "ok"), None)], 50)
    assert silent[0][0].tolist() == plain[0][0].tolist() and silent[1] == plain[1] == [7]


def test_new_speakers_and_fresh_weights_are_drawn_from_the_seed_alone():
    def weights(seed: int, *, speakers: int = 0) -> np.ndarray:
        torch.manual_seed(seed + 7)
        tokenizer = train_tokenizer(TEXTS * 5, vocab_size=400)
        encoder = fresh_encoder(tokenizer, hidden=64, layers=1, seed=seed)
        encoder.use_speaker_tokens(seed=speakers)
        return encoder.backbone.get_input_embeddings().weight.detach().numpy()

    first, again, other = weights(0), weights(0), weights(1)
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first[:-2], other[:-2])
    np.testing.assert_array_equal(first[-2:], other[-2:])
    assert not np.allclose(first[-2:], weights(0, speakers=1)[-2:])


def test_encoding_changes_neither_the_mode_nor_the_random_numbers_of_the_encoder(small):
    rows = [np.int64([2, 7, 8, 3]), np.int64([2, 9, 3])]
    seen: list[int] = []
    for training in (True, False):
        small.train(training)
        before = torch.random.get_rng_state()
        once, again = (encode(small, rows, batch_tokens=4, advance=seen.append) for _ in range(2))
        np.testing.assert_array_equal(once, again)
        assert small.training is training
        assert torch.equal(before, torch.random.get_rng_state())
    assert seen == [1, 1] * 4 and once.dtype == np.float32
    small.eval()


def test_random_numbers_drawn_inside_a_seed_are_not_missed_outside():
    torch.manual_seed(1)
    first, second = torch.rand(2), torch.rand(2)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(2), first)
    with pytest.raises(ZeroDivisionError), seeded(9):
        inside = torch.rand(2)
        raise ZeroDivisionError
    assert torch.equal(torch.rand(2), second), "after an error too"
    with seeded(9):
        assert torch.equal(torch.rand(2), inside)
    with seeded(10):
        assert not torch.equal(torch.rand(2), inside)


@pytest.mark.parametrize(
    ("kind", "stated", "length"),
    [
        *(("bert", 40, 40), ("roberta", 40, 38), ("xlm-roberta", 40, 38), ("longformer", 40, 38)),
        *(("t5", None, UNBOUNDED), ("xlnet", -1, UNBOUNDED)),
    ],
)
def test_positions_after_the_padding_are_two_fewer_and_some_kinds_have_no_end(
    kind: str, stated: int | None, length: int
):
    config = SimpleNamespace(model_type=kind, max_position_embeddings=stated)
    assert positions(config) == length


@pytest.fixture(scope="module")
def small() -> Encoder:
    return fresh_encoder(train_tokenizer(TEXTS * 5, vocab_size=400), hidden=64, layers=1)


def vectors(encoder: Encoder, texts: list[str]) -> np.ndarray:
    ids, ends = tokenise(encoder.tokenizer, texts)
    rows = [
        assemble([ids[a:b]], encoder.special, max_length=64)[0] for a, b in itertools.pairwise(ends)
    ]
    return encode(encoder, rows, batch_tokens=32)


def test_token_ids_are_those_of_the_tokenizer_itself(small):
    ids, ends = tokenise(small.tokenizer, TEXTS)
    for i, text in enumerate(TEXTS):
        assert [
            *small.special.prefix,
            *ids[ends[i] : ends[i + 1]],
            *small.special.suffix,
        ] == small.tokenizer(text)["input_ids"]


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_the_saved_directory_gives_the_same_vectors_in_three_libraries(small, tmp_path, pooling):
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer

    small.pooling = pooling
    directory = tmp_path / "m"
    directory.mkdir()
    save(small, directory, provenance={"options": {}}, card="# card\n")
    ours = vectors(small, TEXTS)
    np.testing.assert_allclose(vectors(load_encoder(str(directory)), TEXTS), ours, atol=1e-6)
    np.testing.assert_allclose(
        SentenceTransformer(str(directory), device="cpu").encode(TEXTS), ours, atol=2e-6
    )
    tokens = AutoTokenizer.from_pretrained(directory)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = AutoModel.from_pretrained(directory)(
            tokens["input_ids"], attention_mask=tokens["attention_mask"]
        ).last_hidden_state
    np.testing.assert_allclose(
        POOLINGS[pooling].load()(hidden, tokens["attention_mask"]).numpy(), ours, atol=2e-6
    )
    small.pooling = "mean"


def test_weights_that_are_overwritten_meanwhile_change_no_vectors(small, tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    save(small, folder, provenance={}, card="")
    weights = folder / "model.safetensors"
    size = weights.stat().st_size
    loaded = load_encoder(str(folder))
    before = vectors(loaded, TEXTS)
    with weights.open("r+b") as file:  # as `cp` does
        file.write(b"\1" * size)
    assert (vectors(loaded, TEXTS) == before).all()


@pytest.mark.parametrize("pooling", ["cls-pooler", "first-last-avg", "last2-avg"])
def test_poolings_of_layers_and_of_the_pooler_are_their_definition_and_load_elsewhere(
    small, tmp_path: Path, pooling: str
):
    """sentence-transformers averages layers, and goes through the pooler, too."""
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer

    encoder = fresh_encoder(small.tokenizer, hidden=64, layers=3, pooling=pooling, seed=1)
    encoder.normalize = True
    save(encoder, tmp_path, provenance={}, card="")
    ours = vectors(encoder, TEXTS)
    back = load_encoder(str(tmp_path))
    assert back.pooling == pooling
    np.testing.assert_array_equal(vectors(back, TEXTS), ours)
    theirs = SentenceTransformer(str(tmp_path), device="cpu").encode(TEXTS)
    unit = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    np.testing.assert_allclose(theirs, unit, atol=2e-6)

    tokens = AutoTokenizer.from_pretrained(tmp_path)(TEXTS, padding=True, return_tensors="pt")
    model = AutoModel.from_pretrained(tmp_path)
    with torch.no_grad():
        out = model(
            tokens["input_ids"],
            attention_mask=tokens["attention_mask"],
            output_hidden_states=True,
        )
        mask = tokens["attention_mask"].bool()
        _, h1, h2, h3 = out.hidden_states
        layers = (h1 + h3) / 2 if pooling == "first-last-avg" else (h2 + h3) / 2
        mean = torch.stack([row[real].mean(0) for row, real in zip(layers, mask, strict=True)])
        slow = out.pooler_output if pooling == "cls-pooler" else mean
    np.testing.assert_allclose(ours, slow.numpy(), atol=2e-6)


@pytest.mark.parametrize("pooling", ["cls-pooler", "last2-avg"])
def test_a_step_beside_the_pooling_that_is_not_the_models_own_is_refused(
    small, tmp_path: Path, pooling: str
):
    encoder = fresh_encoder(small.tokenizer, hidden=64, layers=3, pooling=pooling)
    save(encoder, tmp_path, provenance={}, card="")
    step = "2_Dense" if pooling == "cls-pooler" else "1_WeightedLayerPooling"
    weights = load_file(tmp_path / step / "model.safetensors")
    save_file({k: v + 1 for k, v in weights.items()}, tmp_path / step / "model.safetensors")
    with pytest.raises(ModelError, match=rf"{step}.*other weights than those of --pooling"):
        load_encoder(str(tmp_path))
    assert load_encoder(str(tmp_path), pooling="mean").pooling == "mean"
    (tmp_path / "dialtools.json").unlink()
    with pytest.raises(ModelError, match="a module that is not known here"):
        load_encoder(str(tmp_path))


def test_a_model_without_a_pooler_cannot_pool_by_it(small):
    encoder = fresh_encoder(small.tokenizer, hidden=64, layers=1)
    encoder.backbone.pooler = None
    with pytest.raises(ModelError, match="--pooling cls-pooler: the model has no pooler"):
        Encoder(encoder.backbone, small.tokenizer, pooling="cls-pooler", max_length=64)


@pytest.mark.parametrize("normalize", [True, False])
def test_a_saved_directory_states_pooling_length_and_normalisation(
    small, tmp_path: Path, normalize: bool
):
    def told(path: str) -> Any:
        return json.loads((tmp_path / path).read_text(encoding="utf-8"))

    encoder = fresh_encoder(small.tokenizer, hidden=64, layers=1, pooling="cls", max_length=77)
    encoder.normalize = normalize
    save(encoder, tmp_path, provenance={"options": {"lr": 1}}, card="# card\n")
    steps = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    assert [(m["idx"], m["name"], m["path"], m["type"]) for m in told("modules.json")] == [
        (i, str(i), path, f"sentence_transformers.models.{kind}")
        for i, (path, kind) in enumerate(steps[: 2 + normalize])
    ]
    assert (tmp_path / "2_Normalize").is_dir() is normalize
    assert told("sentence_bert_config.json") == {"max_seq_length": 77, "do_lower_case": False}
    pooling = told("1_Pooling/config.json")
    assert pooling["pooling_mode"] == "cls" and pooling["word_embedding_dimension"] == 64
    assert [key for key, value in pooling.items() if value is True] == ["pooling_mode_cls_token"]
    assert told("dialtools.json")["options"] == {"lr": 1}
    usage = {"similarity_fn_name": "cosine", "prompts": {}}
    assert told("config_sentence_transformers.json") == usage
    assert (tmp_path / "README.md").read_text() == "# card\n"
    back = load_encoder(str(tmp_path))
    assert (back.pooling, back.max_length, back.normalize) == ("cls", 77, normalize)
    assert load_encoder(str(tmp_path), pooling="max", max_length=9).max_length == 9
    assert back.digest() == encoder.digest() and len(back.digest()) == 16


def test_texts_are_lower_cased_where_a_directory_says_so_and_so_is_what_is_saved_of_it(
    small, tmp_path: Path
):
    from sentence_transformers import SentenceTransformer

    texts = ["Where IS the Book [SEP] ÉTÉ", "Leeds"]
    cased = tmp_path / "cased"
    cased.mkdir()
    save(small, cased, provenance={}, card="")
    for name, key in (("tokenizer_config", "do_lower_case"), ("tokenizer", "normalizer")):
        facts = json.loads((cased / f"{name}.json").read_text())
        facts[key] = False if name == "tokenizer_config" else None
        (cased / f"{name}.json").write_text(json.dumps(facts))
    as_written = vectors(load_encoder(str(cased)), texts)

    limits = {"max_seq_length": 64, "do_lower_case": True}
    (cased / "sentence_bert_config.json").write_text(json.dumps(limits))
    encoder = load_encoder(str(cased))
    lowered = vectors(encoder, texts)
    assert not np.allclose(lowered, as_written)
    ids, _ = tokenise(encoder.tokenizer, texts[:1])
    assert encoder.tokenizer.sep_token_id in ids, "a special token stays one"
    plain = [text.lower().replace("[sep]", "[SEP]") for text in texts]
    np.testing.assert_array_equal(vectors(encoder, plain), lowered)
    theirs = SentenceTransformer(str(cased), device="cpu").encode(texts[1:])
    np.testing.assert_allclose(theirs, lowered[1:], atol=2e-6)

    (tmp_path / "again").mkdir()
    save(encoder, tmp_path / "again", provenance={}, card="")
    np.testing.assert_array_equal(vectors(load_encoder(str(tmp_path / "again")), texts), lowered)
    theirs = SentenceTransformer(str(tmp_path / "again"), device="cpu").encode(texts[1:])
    np.testing.assert_allclose(theirs, lowered[1:], atol=2e-6)


@pytest.mark.parametrize(("stated", "taken"), [("eager", "eager"), ("their/code", "sdpa")])
def test_a_configuration_chooses_among_the_attentions_of_transformers_alone(
    small, tmp_path: Path, stated: str, taken: str
):
    save(small, tmp_path, provenance={}, card="")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"attn_implementation": stated}))
    assert load_encoder(str(tmp_path)).backbone.config._attn_implementation == taken


def test_models_are_told_apart_by_every_weight(small):
    same, other = (fresh_encoder(small.tokenizer, hidden=64, layers=1) for _ in range(2))
    assert same.digest() == other.digest()
    with torch.no_grad():
        list(other.backbone.parameters())[-1][-1] += 1e-3
    assert same.digest() != other.digest()
    same.backbone.scale = torch.nn.Parameter(torch.tensor(2.0))
    scaled = same.digest()
    same.backbone.scale.data += 1
    assert same.digest() != scaled


def test_frozen_are_the_embeddings_and_the_first_layers(small):
    encoder = fresh_encoder(small.tokenizer, hidden=64, layers=3)
    encoder.freeze(2)
    free = {name for name, p in encoder.backbone.named_parameters() if p.requires_grad}
    assert free and all(name.startswith(("encoder.layer.2.", "pooler.")) for name in free)
    assert {name for name, _ in encoder.backbone.named_parameters() if ".layer.2." in name} <= free
    for layers in (3, 4):
        with pytest.raises(ConfigError, match="the encoder has 3 layers") as error:
            encoder.freeze(layers)
        assert "at most 2" in str(error.value.hint)
    with pytest.raises(ConfigError, match=r"the encoder has 1 layer$"):
        fresh_encoder(small.tokenizer, hidden=64, layers=1).freeze(1)


def test_vectors_are_pooled_in_float32_whatever_the_layers_compute_in(small):
    ids = torch.randint(5, 30, (3, 9))
    mask = torch.ones_like(ids)
    small.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        hidden = small.tokens(ids, mask)
        pooled = small(ids, mask)
    assert pooled.dtype == torch.float32
    torch.testing.assert_close(pooled, hidden.float().mean(1))


def test_hidden_vectors_of_half_precision_are_pooled_in_whole():
    """A mean of bfloat16 would lose what three digits cannot hold."""
    hidden = (1 + torch.arange(24.0).reshape(2, 4, 3) / 128).bfloat16()
    ids, mask = torch.ones(2, 4, dtype=torch.int64), torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
    asked: list[tuple] = []
    states = SimpleNamespace(last_hidden_state=hidden)
    backed: Any = SimpleNamespace(
        pooling="mean",
        _states=lambda *given: asked.append(given) or states,
        weights_of=lambda ids, mask: mask,
    )
    tokens, pooled = Encoder.both(backed, ids, mask)
    assert tokens is hidden
    assert pooled.dtype == torch.float32 and asked[0][0] is ids and asked[0][1] is mask
    whole = hidden.float()
    torch.testing.assert_close(pooled, torch.stack([whole[0, :3].mean(0), whole[1, :2].mean(0)]))


def test_attention_is_told_of_padding_alone():
    told: list[Any] = []

    def backbone(*, input_ids: torch.Tensor, attention_mask: torch.Tensor | None) -> Any:
        told.append(attention_mask)
        return SimpleNamespace(last_hidden_state=input_ids + 1)

    backed: Any = SimpleNamespace(_run=backbone, device=torch.device("cpu"), is_packed=False)
    ids, some = torch.tensor([[4, 5], [6, 0]]), torch.tensor([[1, 1], [1, 0]])
    for mask in (some, torch.ones_like(some)):
        states = Encoder._states(backed, ids, mask)
        assert states.last_hidden_state.tolist() == [[5, 6], [7, 1]]
    assert told[0] is some and told[1] is None


def test_a_fresh_encoder_is_that_of_seed_0_and_tells_texts_apart_by_their_words(small):
    first, other = (
        fresh_encoder(small.tokenizer, hidden=128, layers=1, **seed) for seed in ({}, {"seed": 0})
    )
    assert first.digest() == other.digest()
    embeddings, config = first.backbone.embeddings, first.backbone.config
    assert not embeddings.token_type_embeddings.weight.any()
    of_words, of_positions = (
        part.weight.std().item()
        for part in (embeddings.word_embeddings, embeddings.position_embeddings)
    )
    assert of_positions == pytest.approx(of_words / 10, rel=0.1)
    assert (config.num_attention_heads, config.intermediate_size) == (2, 512)
    assert (first.shape, first.positions, first.batch_tokens("float32")) == (
        "1 layer x 128",
        512,
        1024,
    )
    assert first.floats_a_token == 128 * 34 and (first.max_length, first.pooling) == (128, "mean")
    for width, heads in ((32, 1), (200, 2), (257, 1), (448, 7)):
        odd = fresh_encoder(small.tokenizer, hidden=width, layers=1)
        assert odd.backbone.config.num_attention_heads == heads


# models of strangers


class Words:
    """A tokenizer of so many tokens, to whose texts it adds one of a number."""

    def __init__(self, known: int, *, added: int = 0, pad: int | None = None, longest: Any = 512):
        self.known, self.added, self.pad_token_id = known, added, pad
        self.model_max_length = longest

    def get_vocab(self) -> dict[str, int]:
        return {str(i): i for i in range(self.known)}

    def __call__(self, text: str, *, add_special_tokens: bool = False) -> dict[str, list[int]]:
        return {"input_ids": [0, *[self.added] * add_special_tokens]}


def test_a_tokenizer_fits_whose_every_id_has_a_row(tmp_path: Path):
    for fine in (Words(9), Words(5, added=8), Words(5, pad=8), Words(1, longest=1), Words(1)):
        check_tokenizer(fine, 9, tmp_path)
    for wrong, says in (
        (Words(10), "the tokenizer has 10 tokens, the model knows 9"),
        (Words(5, added=9), "has 10 tokens"),
        (Words(5, pad=11), "has 12 tokens"),
        (Words(0), "no tokens"),
        (Words(5, longest=True), "model_max_length: expected a number from 1 on"),
        (Words(5, longest=0.5), "model_max_length"),
        (Words(5, longest=float("nan")), "model_max_length"),
        (Words(5, longest="9"), "model_max_length"),
        (SimpleNamespace(model_max_length=9), "its tokenizer does not work"),
    ):
        with pytest.raises(ModelError, match=says):
            check_tokenizer(wrong, 9, tmp_path)


def test_a_model_in_parts_is_looked_over_whole(tmp_path: Path):
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = BertModel(BertConfig(vocab_size=99, intermediate_size=16, **sizes))
    model.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len([*tmp_path.glob("model-*.safetensors")]) > 1
    assert look_over(tmp_path).keys() == model.state_dict().keys()


def test_a_tokenizer_of_another_model_with_far_fewer_tokens_is_refused(tmp_path: Path):
    """Tables are padded: ByT5 has 259 tokens for 384 rows, Qwen2 151,669 for 151,936."""
    for tokens, rows in ((259, 384), (151_669, 151_936), (24_418, 30_522), (1, 513)):
        check_tokenizer(Words(tokens), rows, tmp_path)
    for tokens, rows in ((3000, 30_522), (24_417, 30_522), (1, 514)):
        with pytest.raises(ModelError, match=f"has {tokens:,} tokens, the model knows {rows:,}"):
            check_tokenizer(Words(tokens), rows, tmp_path)


def test_a_copy_that_lost_a_file_says_so_or_gives_the_same_vectors(model: Path, tmp_path: Path):
    said, whole = {}, vectors(load_encoder(str(model)), TEXTS)
    for lost in sorted(path.name for path in model.iterdir()):
        copy = tmp_path / lost
        shutil.copytree(model, copy, ignore=shutil.ignore_patterns(lost))
        try:
            found = vectors(load_encoder(str(copy)), TEXTS)
        except ModelError as error:
            said[lost] = str(error)
        else:
            assert np.array_equal(found, whole), lost
    assert said.keys() == {
        *("1_Pooling", "config.json", "model.safetensors", "modules.json", "tokenizer.json"),
        "sentence_bert_config.json",
    }
    assert "(1) a `tokenizers` library serialization file" in said["tokenizer.json"]
    settings = tmp_path / "tokenizer.json" / "tokenizer_config.json"
    settings.write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))  # makes one of nothing
    with pytest.raises(ModelError, match="its tokenizer knows special tokens alone"):
        load_encoder(str(settings.parent))
    assert "no modules.json, which tells its pooling" in said["modules.json"]
    assert 'no config.json in its folder "1_Pooling"' in said["1_Pooling"]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"num_hidden_layers": 513}, "num_hidden_layers: 513, but the weights are 3 tensors"),
        ({"a": [{"stages": [1, 600]}]}, "stages: 600"),
        ({"num_labels": 1_000_001}, "num_labels"),
        ({"num_hidden_layers": 512, "vocab_size": 10**9, "num_labels": 1_000_000}, None),
        ({"a": {"layers_dropped": 999, "flag": True}}, None),
    ],
)
def test_a_configuration_repeats_nothing_more_often_than_there_are_weights(
    table: dict, says: str | None, tmp_path: Path
):
    (tmp_path / "config.json").write_text(json.dumps(table))
    config = SideFile.read(tmp_path / "config.json")
    if says is None:
        _check_numbers(config, 3)
        return
    with pytest.raises(ModelError, match=says):
        _check_numbers(config, 3)
    if "labels" not in says:
        _check_numbers(config, 600)
        with pytest.raises(ModelError, match=r"512 tensors|599 tensors"):
            _check_numbers(config, 512 if "513" in says else 599)


def test_libraries_do_not_chatter(small, tmp_path: Path):
    from transformers.utils import logging

    save(small, tmp_path, provenance={}, card="")
    for silence in (quiet_transformers, lambda: load_encoder(str(tmp_path))):
        logging.enable_progress_bar()
        logging.set_verbosity_info()
        silence()
        assert logging.get_verbosity() == logging.ERROR and not logging.is_progress_bar_enabled()


def test_new_tokens_are_single_and_begin_as_the_mean_of_the_others(small):
    encoder = fresh_encoder(train_tokenizer(TEXTS * 5, vocab_size=400), hidden=64, layers=1)
    before = encoder.backbone.get_input_embeddings().weight.detach().clone()
    encoder.add_tokens(["{SLOT}", "{Day}"])
    encoder.add_tokens(["{SLOT}"])
    weight = encoder.backbone.get_input_embeddings().weight.detach()
    torch.testing.assert_close(weight[:-2], before)
    torch.testing.assert_close(weight[-2:], before.mean(0).expand(2, -1))
    ids = encoder.tokenizer("a {Day} {SLOT}", add_special_tokens=False)["input_ids"]
    assert ids[-2:] == [len(before) + 1, len(before)]
    encoder.use_speaker_tokens()
    encoder.add_tokens(["{Hour}"])
    encoder.use_speaker_tokens()
    special = ["{SLOT}", "{Day}", "[USR]", "[SYS]", "{Hour}"]
    assert encoder.tokenizer.all_special_tokens[-5:] == special


@pytest.mark.parametrize("kind", ["transformer", "static"])
def test_a_table_that_is_padded_stays_as_large_and_its_new_tokens_are_drawn(kind: str):
    tokenizer = train_tokenizer(TEXTS * 5, vocab_size=400)
    tables = []
    for learnt in (7.0, 9.0):
        if kind == "static":
            encoder = fresh_static(copy.deepcopy(tokenizer), dimension=64, seed=0)
        else:
            encoder = fresh_encoder(copy.deepcopy(tokenizer), hidden=64, layers=1)
        known = len(encoder.tokenizer)
        encoder.backbone.resize_token_embeddings(known + 30, mean_resizing=False)
        with torch.no_grad():
            encoder.backbone.get_input_embeddings().weight[known:] = learnt
        encoder.use_speaker_tokens(seed=3)
        tables.append(encoder.backbone.get_input_embeddings().weight.detach())
        assert len(tables[-1]) == known + 30 and tables[-1].max() < 2
    torch.testing.assert_close(*tables)


def test_a_directory_that_is_no_model_is_told_in_one_line(tmp_path):
    with pytest.raises(ModelError, match="not a model that transformers can load"):
        load_encoder(str(tmp_path))
    with pytest.raises(ModelError, match="no model 'not/there' on this machine"):
        load_encoder("not/there")


@pytest.mark.parametrize("said", ["can't start new thread", "DefaultCPUAllocator: can't allocate"])
@pytest.mark.parametrize("place", ["transformers", "tokenizer", "trial"])
def test_threads_or_memory_that_are_not_to_be_had_are_no_fault_of_a_model(
    small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, said: str
):
    import transformers as t

    def wants(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{said} memory")

    save(small, tmp_path, provenance={}, card="")
    owner, name = {
        "transformers": (t.AutoModel, "from_pretrained"),
        "tokenizer": (t.PreTrainedTokenizerFast, "__call__"),
        "trial": (Encoder, "forward"),
    }[place]
    monkeypatch.setattr(owner, name, wants)
    with pytest.raises(RuntimeError, match=said):
        load_encoder(str(tmp_path))


@pytest.mark.parametrize("family", ["roberta", "distilbert", "t5", "gpt2"])
def test_any_family_of_backbone_encodes_and_pads_on_its_side(small, family):
    import transformers as t

    n = len(small.tokenizer)
    one_layer = {"vocab_size": n, "hidden_size": 32, "num_hidden_layers": 1}
    one_layer |= {"num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 66}
    distil = {"vocab_size": n, "dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 32}
    t5 = {"vocab_size": n, "d_model": 32, "num_layers": 1, "num_heads": 2, "d_kv": 16, "d_ff": 32}
    gpt2 = {"vocab_size": n, "n_embd": 32, "n_layer": 1, "n_head": 2}
    backbone = {
        "roberta": lambda: t.RobertaModel(t.RobertaConfig(**one_layer)),
        "distilbert": lambda: t.DistilBertModel(t.DistilBertConfig(**distil)),
        "t5": lambda: t.T5EncoderModel(t.T5Config(**t5)),
        "gpt2": lambda: t.GPT2Model(t.GPT2Config(**gpt2)),
    }[family]()
    encoder = Encoder(
        backbone, small.tokenizer, pooling="last" if family == "gpt2" else "mean", max_length=32
    )
    together, alone = (
        vectors(encoder, TEXTS),
        np.concatenate([vectors(encoder, [t]) for t in TEXTS]),
    )
    assert together.shape == (len(TEXTS), 32)
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_a_text_without_a_token_is_zeros(small, pooling: str):
    encoder = Encoder(small.backbone, small.tokenizer, pooling=pooling, max_length=32)
    one, none = np.array([3, 4], np.int32), np.array([], np.int32)
    found = encode(encoder, [none, one, none], batch_tokens=64)
    assert not found[::2].any() and found[1].any()
    assert not encode(encoder, [none], batch_tokens=64).any()


@pytest.mark.parametrize("kind", ["FNet", "ConvBert"])
def test_models_that_feel_padding_are_given_none(small, tmp_path: Path, kind: str):
    import transformers as t

    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "intermediate_size": 32}
    heads = {} if kind == "FNet" else {"num_attention_heads": 2, "head_ratio": 1}
    config = getattr(t, f"{kind}Config")(vocab_size=len(small.tokenizer), **sizes, **heads)
    getattr(t, f"{kind}Model")(config).save_pretrained(tmp_path)
    small.tokenizer.save_pretrained(tmp_path)
    encoder = load_encoder(str(tmp_path)).eval()
    alone = np.concatenate([vectors(encoder, [text]) for text in TEXTS])
    np.testing.assert_allclose(vectors(encoder, TEXTS), alone, atol=1e-5)
    assert encoder.feels_padding and not small.feels_padding


def test_what_bigbird_makes_of_a_long_text_is_the_same_wherever_it_is_loaded(small, tmp_path: Path):
    import transformers as t

    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    sizes |= {"vocab_size": len(small.tokenizer), "max_position_embeddings": 300, "block_size": 16}
    t.BigBirdModel(t.BigBirdConfig(**sizes, intermediate_size=32)).save_pretrained(tmp_path / "m")
    small.tokenizer.save_pretrained(tmp_path / "m")
    encoder = load_encoder(str(tmp_path / "m"), max_length=300).eval()
    encoder.backbone.save_pretrained(tmp_path / "saved")
    again = t.BigBirdModel.from_pretrained(tmp_path / "saved").eval()
    ids = torch.arange(256)[None] % 50
    with torch.no_grad():
        theirs = again(input_ids=ids).last_hidden_state
        torch.testing.assert_close(encoder.tokens(ids, torch.ones_like(ids)), theirs)


def test_the_stated_length_never_exceeds_what_the_backbone_can(minilm):
    assert load_encoder(minilm, max_length=9999).max_length == 512
    assert SimpleNamespace(**vars(load_encoder(minilm))).max_length == 256


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_word_vectors_are_averaged_over_the_words_that_are_known(tmp_path: Path, header: str):
    lines = f"{header}good 1 2\nnew york 3 -4\nthe 0.5 0\ngood 9 9\n"
    (tmp_path / "words.txt").write_text(lines)
    encoder = WordVectors.load(str(tmp_path / "words.txt"))
    assert encoder.words == {"good": 0, "new york": 1, "the": 2} and encoder.dimension == 2
    vectors, counts = encoder.encode(["The GOOD one", "nothing", "", "good"])
    assert vectors.tolist() == [[0.75, 1], [0, 0], [0, 0], [1, 2]]
    assert counts.tolist() == [3, 1, 0, 1] and vectors.dtype == np.float32
    other = WordVectors(dict(encoder.words), encoder.matrix + 1)
    assert len(encoder.digest()) == 16 and encoder.digest() != other.digest()


def test_a_word_vector_is_found_by_a_word_with_its_marks(tmp_path: Path):
    (tmp_path / "words.txt").write_text("हिन्दी 1 2\ncafe\u0301 3 4\n? 5 6\n")
    encoder = WordVectors.load(str(tmp_path / "words.txt"))
    texts = ["हिन्दी?", "Cafe\u0301", "नमस्ते"]
    averages, counts = encoder.encode(texts)
    assert averages.tolist() == [[3, 4], [3, 4], [0, 0]] and counts.tolist() == [2, 1, 1]
    static = of_words(encoder)
    sequences = sequences_of(static, [((text,), None) for text in texts], 64)[0]
    assert [list(map(int, ids)) for ids in sequences] == [[1, 3], [2], [0]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a 1 2\nb 1\n", "line 2: expected a word and 2 numbers"),
        ("a 1 2\nb 1 x\n", "line 2: expected a word and 2 numbers"),
        ("a 1 2\nb 1 inf\n", "line 2"),
        ("a\n", "line 1: expected a word and its numbers"),
        ("7 2\n", "holds no word vectors"),
        ("", "holds no word vectors"),
    ],
)
def test_a_file_that_holds_no_word_vectors_is_told_by_its_line(
    tmp_path: Path, text: str, says: str
):
    (tmp_path / "words.txt").write_text(text)
    with pytest.raises(ModelError, match=says):
        WordVectors.load(str(tmp_path / "words.txt"))


@pytest.mark.parametrize(
    ("machine", "capability", "precision", "told"),
    [
        ("x86_64", "AVX2", "bfloat16", True),
        ("x86_64", "AVX512", "bfloat16", False),
        ("aarch64", "DEFAULT", "bfloat16", False),
        ("x86_64", "AVX2", "auto", False),
    ],
)
def test_a_precision_that_the_processor_emulates_is_told(
    machine, capability, precision, told, monkeypatch
):
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: capability)
    options = DeviceOptions(device="cpu", precision=precision)
    assert ("emulates bfloat16" in slower_precision(options)) == told


@given(st.data())
def test_many_items_are_joined_as_each_is_alone(data: st.DataObject):
    """Speakers may have any id, that of 0 too; -1 is no speaker."""
    few = st.integers(0, 3)
    word = st.integers(0, 99)
    prefix, suffix, separator = (data.draw(st.lists(word, max_size=2)) for _ in range(3))
    special = SpecialTokens(
        *map(np.int32, (prefix, suffix, separator)), 0, data.draw(st.booleans())
    )
    items = data.draw(st.lists(st.lists(st.lists(word, max_size=4), min_size=1), max_size=4))
    newest = [data.draw(st.booleans()) for _ in items]
    spoken = [data.draw(st.booleans()) for _ in items]
    roles = [
        [data.draw(few) for _ in item] if told else [-1] * len(item)
        for item, told in zip(items, spoken, strict=True)
    ]
    turns = [np.int32(turn) for item in items for turn in item]
    sizes = np.array([len(turn) for turn in turns], np.int64)
    room = data.draw(st.integers(1, 12))
    joined = join_turns(
        np.concatenate([*turns, np.zeros(0, np.int32)]),
        np.cumsum(sizes) - sizes,
        sizes,
        np.array([len(item) for item in items], np.int64),
        special,
        max_length=room,
        newest_N=np.array(newest, bool),
        speakers_T=np.array([role for of_item in roles for role in of_item], np.int64),
    )
    alone = [
        assemble([*map(np.int32, item)], special, max_length=room, newest=n, roles=r if t else None)
        for item, n, r, t in zip(items, newest, roles, spoken, strict=True)
    ]
    assert [row.tolist() for row in joined] == [row.tolist() for row, _ in alone]

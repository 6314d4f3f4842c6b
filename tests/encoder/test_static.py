"""Static encoders: averages of tokens' vectors, where they come from, and who reads their files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from dialtools.encoder.encode import encode
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.modeldir import save
from dialtools.encoder.sequences import flat_sequences, sequences_of
from dialtools.encoder.stated import read_stated
from dialtools.encoder.static import StaticEncoder, fresh_static
from dialtools.encoder.static_start import of_transformer, of_words
from dialtools.encoder.token_vectors import load_token_vectors, read_token_vectors
from dialtools.encoder.tokens import _encoded, _words_stand_alone, tokenise
from dialtools.encoder.word_vectors import WordVectors
from dialtools.errors import ConfigError, ModelError
from dialtools.train.optimiser import LazyAdam

TEXTS = ["a table for two please", "thank you!", "a table, a table", "订一张桌子", "שלום עולם", ""]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(TEXTS * 3, vocab_size=300)


@pytest.fixture
def static(tokenizer) -> StaticEncoder:
    return fresh_static(tokenizer, dimension=8, seed=0)


def vectors(encoder: Encoder, texts: list[str]) -> np.ndarray:
    sequences, _, _ = sequences_of(encoder, [((text,), None) for text in texts], encoder.max_length)
    return encode(encoder, sequences, batch_tokens=64)


def slow_averages(encoder: StaticEncoder, texts: list[str]) -> np.ndarray:
    table = encoder.backbone.embedding.weight.detach().numpy()
    rows = []
    for text in texts:
        ids = encoder.tokenizer(text, add_special_tokens=False)["input_ids"]
        rows.append(table[ids].mean(0) if ids else np.zeros(encoder.dimension))
    return np.stack(rows)


def test_a_fresh_table_is_drawn_from_the_seed_alone(tokenizer):
    torch.rand(1)  # what was drawn before has no say
    first, again, other = (
        fresh_static(tokenizer, dimension=4, seed=seed).backbone.embedding.weight
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert first.norm(dim=1).mean().item() == pytest.approx(1, rel=0.15)


def test_a_text_is_the_average_of_its_tokens_and_nothing_is_zeros(static):
    np.testing.assert_allclose(vectors(static, TEXTS), slow_averages(static, TEXTS), atol=1e-6)
    assert not vectors(static, [""]).any()


def test_turns_are_one_text_without_anything_between(static):
    turns = (("a table", "for two please"), None)
    sequences, counts, _ = sequences_of(static, [turns], static.max_length)
    joined = vectors(static, ["a table for two please"])
    np.testing.assert_allclose(encode(static, sequences, batch_tokens=64), joined, atol=1e-6)
    assert counts[0] == len(sequences[0])


@pytest.fixture
def in_turns(static) -> StaticEncoder:
    """One that knows the turns before the newest from it."""
    static.tell_turns_apart()
    with torch.no_grad():
        static.backbone.earlier.weight.neg_()
    return static


def test_tokens_of_earlier_turns_have_vectors_of_their_own_if_it_tells_turns_apart(in_turns):
    turns = ["a table", "for two", "please"]
    sequences, _, _ = sequences_of(in_turns, [(tuple(turns), None)], in_turns.max_length)
    sizes = [len(in_turns.tokenizer(turn, add_special_tokens=False)["input_ids"]) for turn in turns]
    now = slow_averages(in_turns, turns) * np.array(sizes)[:, None]
    expected = (now[2] - now[0] - now[1]) / sum(sizes)
    np.testing.assert_allclose(encode(in_turns, sequences, batch_tokens=64)[0], expected, atol=1e-6)
    np.testing.assert_allclose(vectors(in_turns, TEXTS), slow_averages(in_turns, TEXTS), atol=1e-6)


def test_both_tables_are_saved_others_read_the_one_of_single_texts_and_new_tokens_are_in_both(
    in_turns, tmp_path: Path
):
    from sentence_transformers import SentenceTransformer

    save(in_turns, tmp_path, provenance={}, card="")
    again = load_encoder(str(tmp_path))
    assert again.special.earlier and again.digest() == in_turns.digest()
    theirs = SentenceTransformer(str(tmp_path), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(vectors(again, TEXTS), theirs, atol=1e-6)
    again.add_tokens(["{city}"])
    tables = (again.backbone.embedding, again.backbone.earlier)
    assert [table.num_embeddings for table in tables] == [len(again.tokenizer)] * 2


@given(
    items=st.lists(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3).map(tuple), max_size=9)
)
def test_without_torch_an_item_has_the_same_vector_bit_by_bit(turns_apart, items):
    folder, encoder = turns_apart
    light = load_token_vectors(read_stated(folder), pooling=None, max_length=5)
    assert (light.digest(), light.dimension) == (encoder.digest(), encoder.dimension)
    sequences, _, _ = sequences_of(encoder, [(texts, None) for texts in items], 5)
    flat, _, _ = flat_sequences(light, [(texts, None) for texts in items], light.max_length)
    assert light.encode(flat).tobytes() == encode(encoder, sequences, batch_tokens=64).tobytes()


@pytest.fixture(scope="module")
def turns_apart(tokenizer, tmp_path_factory) -> tuple[Path, StaticEncoder]:
    folder = tmp_path_factory.mktemp("apart")
    encoder = fresh_static(tokenizer, dimension=600, seed=3)
    encoder.tell_turns_apart()
    with torch.no_grad():
        encoder.backbone.earlier.weight.mul_(-0.3)
    save(encoder, folder, provenance={}, card="")
    return folder, encoder


def test_bfloat16_is_read_as_float32(static, tmp_path: Path):
    from safetensors.torch import save_file

    save(static, tmp_path, provenance={}, card="")
    vectors_VD = static.backbone.embedding.weight.detach().bfloat16()
    save_file({"embeddings": vectors_VD}, tmp_path / "model.safetensors")
    read = read_token_vectors(tmp_path).vectors
    assert read.dtype == np.float32 and np.array_equal(read, vectors_VD.float().numpy())


def test_tables_of_different_sizes_do_not_belong_together(in_turns, tmp_path: Path):
    from safetensors.torch import save_file

    save(in_turns, tmp_path, provenance={}, card="")
    table = in_turns.backbone.embedding.weight.detach()
    save_file({"embeddings": table, "earlier": table[:5].clone()}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"earlier: expected .* numbers, got 5x8"):
        load_encoder(str(tmp_path))


def test_no_items_are_no_sequences(static):
    sequences, counts, cut = sequences_of(static, [], 9)
    assert (sequences, counts.tolist(), cut.tolist()) == ([], [], [])


@pytest.mark.parametrize("normalize", [False, True])
def test_sentence_transformers_reads_what_is_saved_and_gives_the_same_vectors(
    tokenizer, tmp_path: Path, normalize: bool
):
    from sentence_transformers import SentenceTransformer

    static = fresh_static(tokenizer, dimension=8, seed=1)
    static.normalize = normalize
    save(static, tmp_path, provenance={}, card="")
    theirs = SentenceTransformer(str(tmp_path), device="cpu").encode(TEXTS)
    again = load_encoder(str(tmp_path))
    assert isinstance(again, StaticEncoder) and again.normalize == normalize
    ours = vectors(again, TEXTS)
    np.testing.assert_array_equal(ours, vectors(static, TEXTS))
    lengths = np.linalg.norm(ours, axis=1, keepdims=True)
    expected = ours / np.where(lengths > 0, lengths, 1) if normalize else ours
    np.testing.assert_allclose(theirs, expected, atol=1e-6)


def test_a_folder_that_sentence_transformers_saved_gives_its_vectors(tokenizer, tmp_path: Path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding

    module = StaticEmbedding(tokenizer, embedding_dim=6)
    theirs = SentenceTransformer(modules=[module], device="cpu")
    theirs.save(str(tmp_path))
    ours = vectors(load_encoder(str(tmp_path)), TEXTS)
    np.testing.assert_allclose(ours, theirs.encode(TEXTS), atol=1e-6)


def test_model2vecs_shared_and_weighted_vectors_are_folded(static, tmp_path: Path):
    from safetensors.torch import save_file

    save(static, tmp_path, provenance={}, card="")
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "model2vec"
    (tmp_path / "modules.json").unlink()  # as the hub has older ones
    tokens = len(static.tokenizer)
    shared = torch.randn(5, 4)
    mapping, weights = torch.arange(tokens) % 5, torch.rand(tokens)
    tensors = {"embeddings": shared, "mapping": mapping, "weights": weights}
    save_file(tensors, tmp_path / "model.safetensors")
    loaded = load_encoder(str(tmp_path))
    expected = shared[mapping] * weights[:, None]
    torch.testing.assert_close(loaded.backbone.embedding.weight.detach(), expected)


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ({"other": torch.zeros(3, 2)}, "no embeddings or embedding.weight in it"),
        ({"embeddings": torch.zeros(3)}, "embeddings: expected rows of numbers, got 3 of float32"),
        ({"embeddings": torch.zeros(3, 2, dtype=torch.int32)}, "expected rows of numbers"),
        ({"embeddings": torch.zeros(3, 2)}, "the model knows 3"),
        ({"embeddings": torch.full((400, 2), torch.nan)}, "not all are finite"),
        (
            {"embeddings": torch.zeros(3, 2), "mapping": torch.full((400,), 3)},
            "mapping: expected rows of embeddings",
        ),
        (
            {"embeddings": torch.zeros(3, 2), "mapping": torch.zeros(400)},
            "mapping: expected rows of embeddings",
        ),
        (
            {"embeddings": torch.zeros(1, 2), "mapping": torch.zeros(9999, dtype=torch.int8)},
            "mapping: more tokens than",
        ),
        (
            {"embeddings": torch.zeros(400, 2), "weights": torch.zeros(3)},
            "weights: expected a number a token",
        ),
        (
            {"embeddings": torch.zeros(9, 2), "weights": torch.zeros(9, dtype=torch.complex64)},
            "weights: expected a number a token",
        ),
    ],
)
def test_vectors_that_are_not_those_of_the_tokens_are_refused(static, tmp_path, tensors, says):
    from safetensors.torch import save_file

    save(static, tmp_path, provenance={}, card="")
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=says):
        load_encoder(str(tmp_path))


class PanicException(BaseException):
    """As a library that is written in Rust raises it."""


@pytest.mark.parametrize(
    ("raised", "told"),
    [(PanicException, ModelError), (ValueError, ModelError), *[(KeyboardInterrupt,) * 2]],
)
def test_a_tokenizer_that_fails_at_a_text_is_told(raised, told):
    class Backend:
        def encode_batch_fast(self, texts, add_special_tokens):
            raise raised("at a text")

    with pytest.raises(told, match="at a text"):
        _encoded(Backend(), ["a"])


def test_a_damaged_tokenizer_is_told(static, tmp_path: Path):
    save(static, tmp_path, provenance={}, card="")
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match=r"tokenizer\.json: not a tokenizer"):
        load_encoder(str(tmp_path))


def test_a_tokenizer_that_fails_at_words_it_does_not_know_is_told(static, tmp_path: Path):
    save(static, tmp_path, provenance={}, card="")
    path = tmp_path / "tokenizer.json"
    held = json.loads(path.read_text())
    held["model"]["unk_token"] = "[NONE]"
    path.write_text(json.dumps(held))
    with pytest.raises(ModelError, match=r"does not work: .*Missing"):
        load_encoder(str(tmp_path))


def test_a_tokenizer_that_makes_its_library_panic_is_told_and_nothing_else(
    static, tmp_path: Path, capfd: pytest.CaptureFixture
):
    save(static, tmp_path, provenance={}, card="")
    path = tmp_path / "tokenizer.json"
    both = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]  # of two texts, given one
    template = {"type": "TemplateProcessing", "single": both, "pair": both, "special_tokens": {}}
    held = json.loads(path.read_text()) | {"post_processor": template}
    path.write_text(json.dumps(held))
    with pytest.raises(ModelError, match="its tokenizer does not work: index out of bounds"):
        load_encoder(str(tmp_path))
    assert capfd.readouterr().err == ""


def test_it_has_one_pooling_and_no_layers(static, tmp_path: Path):
    save(static, tmp_path, provenance={}, card="")
    with pytest.raises(ConfigError, match="a static encoder averages"):
        load_encoder(str(tmp_path), pooling="max")
    with pytest.raises(ConfigError, match="has no layers"):
        static.freeze(1)


def test_the_gradient_of_a_batch_is_of_its_tokens_alone_and_that_of_the_whole_table(static):
    ids = torch.tensor([[5, 6, 5, 9], [6, 7, 0, 0], [0, 0, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]])
    weight = static.backbone.embedding.weight
    target = torch.randn(3, static.dimension)
    gradients = []
    for sparse in (False, True):
        static.sparse = sparse
        weight.grad = None
        (static(ids, mask) * target).sum().backward()
        gradients.append(weight.grad)
    assert gradients[1].is_sparse and gradients[1]._indices()[0].tolist() == [5, 6, 7, 9]
    torch.testing.assert_close(gradients[1].to_dense(), gradients[0])


def test_lazy_adam_takes_the_steps_of_torchs_sparse_adam_and_of_adam_on_dense_gradients():
    torch.manual_seed(0)
    start, dense = torch.randn(7, 3), torch.randn(4)
    tables = [nn.Parameter(start.clone()) for _ in range(2)]
    heads = [nn.Parameter(dense.clone()) for _ in range(2)]
    ours = LazyAdam([tables[0], heads[0]], lr=0.1)
    theirs = (torch.optim.SparseAdam([tables[1]], lr=0.1), torch.optim.Adam([heads[1]], lr=0.1))
    for _ in range(5):
        rows = torch.randint(0, 7, (4,))  # doubled rows count twice
        for table, head in zip(tables, heads, strict=True):
            vectors = nn.functional.embedding(rows, table, sparse=True)
            loss = (vectors.sin().sum() + 0.1 * vectors.pow(2).sum()) + head.pow(3).sum()
            table.grad = head.grad = None
            loss.backward()
        ours.step()
        for optimiser in theirs:
            optimiser.step()
    torch.testing.assert_close(tables[0], tables[1])
    torch.testing.assert_close(heads[0], heads[1])


def test_tokens_of_a_transformer_are_embedded_alone_centred_turned_and_weighed_by_rank(tokenizer):
    encoder = fresh_encoder(tokenizer, hidden=64, layers=1)
    counts = np.random.default_rng(0).integers(0, 50, len(tokenizer))
    static = of_transformer(encoder, counts, dimension=5)
    ours = static.backbone.embedding.weight.detach().double().numpy()

    special = encoder.special
    alone = [np.r_[special.prefix, i, special.suffix] for i in range(len(tokenizer))]
    rows = np.stack([encode(encoder, [each], batch_tokens=9)[0] for each in alone]).astype(float)
    centred = rows - rows.mean(0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ directions[:5].T
    turned /= np.sqrt((turned**2).sum(1).mean())
    rank = {i: r for r, i in enumerate(sorted(range(len(counts)), key=lambda i: -counts[i]), 1)}
    expected = turned * np.log1p([rank[i] for i in range(len(counts))])[:, None]
    np.testing.assert_allclose(ours @ ours.T, expected @ expected.T, atol=1e-3)


def test_word_vectors_keep_their_directions(tmp_path: Path):
    path = tmp_path / "words.txt"
    path.write_text("table 1 0 2\nfor 0 1 0\ntwo -1 0 1\n! 0 0 1\n")
    words = WordVectors.load(str(path))
    texts = ["A table for TWO!", "for-two", "nothing known"]
    ours, (theirs, _) = vectors(of_words(words), texts), words.encode(texts)
    for left, right in zip(ours, theirs, strict=True):
        length = np.linalg.norm(left) * np.linalg.norm(right)
        assert length == pytest.approx(left @ right, abs=1e-6)
    assert not ours[2].any()


def test_words_in_capitals_are_found_and_their_own_line_comes_first(tmp_path: Path):
    path = tmp_path / "words.txt"
    path.write_text("The 9 9\nNASA 1 0\nNasa 9 9\nthe 0 1\nthe 9 9\nTHE 9 9\n[UNK] 9 9\n")
    words = WordVectors.load(str(path))
    assert words.encode(["nasa", "Nasa", "The", "the"])[0].tolist() == [[1, 0]] * 2 + [[0, 1]] * 2
    ours = vectors(of_words(words), ["NASA", "THE", "unheard"])
    assert ours.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_a_token_with_a_blank_in_it_is_found_across_words():
    tokenizer = train_tokenizer(TEXTS, vocab_size=300)
    assert _words_stand_alone(tokenizer.backend_tokenizer)
    tokenizer.add_tokens(["table for"])
    assert not _words_stand_alone(tokenizer.backend_tokenizer)
    whole = tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]
    assert tokenizer.convert_tokens_to_ids("table for") in whole
    assert tokenise(tokenizer, TEXTS[:1])[0].tolist() == whole


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=5))
def test_words_tokenised_once_are_the_tokens_of_the_texts(tokenizer, texts):
    texts = [*texts, *(f"a {text}\u0301 b  {text}\u00a0[SEP]c\t{text}" for text in texts)]
    ids, offsets = tokenise(tokenizer, texts)
    for i, text in enumerate(texts):
        whole = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        assert ids[offsets[i] : offsets[i + 1]].tolist() == whole

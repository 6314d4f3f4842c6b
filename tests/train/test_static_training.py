"""dial-train without a model: a static encoder, what it may start from, and when it is none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from at_work import broken_off, logged
from oracles.slow_tokens import assemble
from pair_corpus import Train, as_lines, pair_records, weights
from train_parts import recipe_options

from dialtools.encoder.loading import load_encoder
from dialtools.encoder.static import StaticEncoder
from dialtools.encoder.tokens import SpecialTokens
from dialtools.errors import ModelError
from dialtools.train.data.collate import Joining, Lengths, contexts, responses
from dialtools.train.data.store import Store
from dialtools.train.prepare import settle_lengths
from dialtools.train.start import encoder_kind
from dialtools.train.validate import told_score

STATIC = ("--encoder", "static", "--hidden", "64", "--vocab-size", "300", "--threads", "1")
RUN = (*STATIC, "--batch-size", "32", "--max-steps", "150", "--lr", "0.01")
RUN = (*RUN, "--checkpoint-every", "7")


@pytest.fixture(scope="module")
def trained(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static encoder, trained for a few steps."""
    model = tmp_path_factory.mktemp("static") / "model"
    train(*RUN, "--validation", pairs, "-o", model, pairs, small=False)
    return model


def top_1(model: Path) -> list[float]:
    log = map(json.loads, (model / "train-log.jsonl").read_text().splitlines())
    return [row["top-1"] for row in log if "top-1" in row]


def validation(model: Path) -> dict[str, Any]:
    return json.loads((model / "dialtools.json").read_text())["validation"]


def test_it_learns_to_pick_responses(trained: Path):
    before, *_, after = top_1(trained)
    assert after > before + 5
    encoder = load_encoder(str(trained))
    assert isinstance(encoder, StaticEncoder) and encoder.dimension == 64


@pytest.mark.parametrize(
    ("response", "context", "turns", "expected"),
    [(32, 0, 3, 96), (32, 0, 99, 512), (32, 2000, 3, 2000), (600, 0, 1, 600), (600, 0, 3, 600)],
)
def test_contexts_are_as_long_as_is_said_and_else_of_a_usual_length(
    trained: Path, response: int, context: int, turns: int, expected: int
):
    encoder = load_encoder(str(trained))
    lengths = settle_lengths(encoder, response=response, context=context, turns=turns)
    assert lengths == Lengths(context=expected, response=response)


def test_it_says_if_it_ends_below_its_start(trained: Path, train: Train, pairs: Path, tmp_path):
    worse = ("--model", trained, "--lr", "50", "--max-steps", "20", "--validation", pairs, "-q")
    done = train(*worse, "-o", tmp_path / "worse", pairs, small=False).stderr.decode()
    assert done.startswith("dial-train: warning: it selects responses less often than its start")
    assert done.count("\n") == 1 and "--merge-with-start" in done
    before, *_, after = top_1(tmp_path / "worse")
    assert after < before


def test_killed_and_resumed_it_ends_in_the_same_bytes(
    trained, train: Train, scripts, environment, pairs, tmp_path
):
    run = (*RUN, "--validation", pairs, "-o", tmp_path / "model", pairs)
    command = [scripts / "dial-train", "-q", *run]
    broken_off(command, lambda: logged(tmp_path / "model") >= 12, env=environment)
    done = train(*run, "--resume", small=False)
    assert weights(tmp_path / "model") == weights(trained)
    assert validation(tmp_path / "model") == validation(trained)
    assert (
        f"before -> after: top-1 {told_score(validation(trained)['before']['top-1'])} -> ".encode()
        in done.stderr
    )


@pytest.mark.parametrize(
    ("chosen", "kind"),
    [
        ({}, "static"),
        ({"device": "cpu"}, "static"),
        ({"device": "cuda"}, "static"),
        ({"layers": 3}, "transformer"),
        ({"model": "bert-base-uncased"}, "transformer"),
        ({"model": "bert-base-uncased", "encoder": "static"}, "static"),
    ],
)
def test_what_is_trained_follows_from_what_is_chosen(chosen, kind):
    assert encoder_kind(chosen, contextual=False) == kind


def test_few_pairs_are_seen_often_unless_the_user_says_how_often():
    assert recipe_options(encoder="static").min_steps == 100
    assert recipe_options(encoder="static", epochs=2.0).min_steps is None


def test_words_in_context_need_a_transformer():
    assert encoder_kind({}, contextual=True) == "transformer"


def test_a_static_encoder_is_trained_on_and_its_kind_needs_no_flag(trained, train, pairs, tmp_path):
    again = tmp_path / "again"
    done = train("--model", trained, "--max-steps", "2", "-o", again, pairs, small=False)
    assert b"static, " in done.stderr
    assert weights(again) != weights(trained)
    assert 'encoder = "static"' in (again / "dialtools.toml").read_text()


def test_a_static_encoder_in_the_cache_of_the_hub_is_known_by_its_name(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cached = tmp_path / "models--some--table"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("0" * 40)
    shutil.copytree(trained, cached / "snapshots" / ("0" * 40))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for start in (str(trained), "some/table"):
        assert encoder_kind({"model": start}, contextual=False) == "static"
    assert encoder_kind({"model": "some/other"}, contextual=False) == "transformer"


def test_a_transformer_gives_its_tokens_to_a_static_encoder(train, pairs, tmp_path):
    train("--max-steps", "1", "-o", tmp_path / "bert", pairs)
    flags = ("--encoder", "static", "--hidden", "64", "--max-steps", "0")
    train("--model", tmp_path / "bert", *flags, "-o", tmp_path / "table", pairs, small=False)
    table = load_encoder(str(tmp_path / "table"))
    assert isinstance(table, StaticEncoder)
    assert len(table.tokenizer) == len(load_encoder(str(tmp_path / "bert")).tokenizer)


@pytest.fixture
def with_a_gap(model, tmp_path) -> tuple[Path, int]:
    """A model one of whose numbers has no token, as a vocab.txt with a line twice makes it."""
    start = Path(shutil.copytree(model, tmp_path / "start"))
    told = json.loads((start / "tokenizer.json").read_text())
    words = told["model"]["vocab"]
    rows = len(words)
    del words[sorted(words, key=words.__getitem__)[rows // 2]]
    (start / "tokenizer.json").write_text(json.dumps(told))
    return start, rows


def test_a_vocabulary_with_a_number_of_no_token_is_given_whole(train, pairs, with_a_gap, tmp_path):
    start, rows = with_a_gap
    flags = ("--encoder", "static", "--hidden", "64", "--max-steps", "1")
    train("--model", start, *flags, "-o", tmp_path / "table", pairs, small=False)
    table = load_encoder(str(tmp_path / "table"))
    assert table.backbone.embedding.num_embeddings == rows == len(table.tokenizer) + 1


def test_new_tokens_take_no_number_of_a_word(with_a_gap):
    encoder = load_encoder(str(with_a_gap[0]))
    with pytest.raises(ModelError, match="new tokens would take those of words"):
        encoder.use_speaker_tokens()
    encoder.add_tokens(["[CLS]"])


@pytest.mark.parametrize(("windows", "apart"), [("1", False), ("1,3", True)])
def test_turns_before_the_newest_have_vectors_of_their_own_where_pairs_have_them(
    train, pairs, tmp_path, windows, apart
):
    flags = (*STATIC, "--max-steps", "2", "--window", windows)
    train(*flags, "-o", tmp_path / "m", pairs, small=False)
    table = load_encoder(str(tmp_path / "m")).backbone
    assert (table.earlier is not None) == apart
    assert ("earlier turns apart" in (tmp_path / "m" / "README.md").read_text()) == apart
    if apart:
        assert not torch.equal(table.earlier.weight, table.embedding.weight)


def test_word_vectors_are_a_start(train, pairs, tmp_path):
    words = sorted({w for line in pairs.read_text().split('"') for w in line.lower().split()})
    draw = np.random.default_rng(0)
    lines = (f"{word} {' '.join(map(str, draw.normal(size=4).round(3)))}" for word in words)
    (tmp_path / "words.txt").write_text("\n".join(lines))
    start = ("--model", tmp_path / "words.txt")
    train(*start, "--max-steps", "3", "-o", tmp_path / "model", pairs, small=False)
    assert load_encoder(str(tmp_path / "model")).dimension == 4


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--encoder", "static", "--layers", "3"), b"--layers goes with --encoder transformer"),
        (("--encoder", "static", "--weight-decay", "0.1"), b"lazy-adam has no weight decay"),
        (("--encoder", "static", "--method", "mlm"), b"words in their context"),
    ],
)
def test_what_a_static_encoder_cannot_is_a_usage_error(train, pairs, tmp_path, flags, says):
    done = train(*flags, "-o", tmp_path / "m", pairs, small=False, code=2)
    assert says in done.stderr and done.stderr.count(b"\n") <= 2


def test_a_static_model_is_no_transformer(trained, train, pairs, tmp_path):
    flags = ("--model", trained, "--encoder", "transformer")
    done = train(*flags, "-o", tmp_path / "m", pairs, small=False, code=2)
    assert b"is a static encoder" in done.stderr


@pytest.mark.parametrize("method", ["wmdc", "dse-dropout", "dialoguecse", "siamese-m"])
def test_methods_train_it(method, train, pairs, tmp_path):
    flags = ("--method", method, *STATIC, "--batch-size", "16", "--max-steps", "3")
    few = ("--negatives", "3") if method in ("dialoguecse", "siamese-m") else ()
    train(*flags, *few, "-o", tmp_path / "m", pairs, small=False)
    assert isinstance(load_encoder(str(tmp_path / "m")), StaticEncoder)


@pytest.mark.parametrize("roles", [None, (11, 12, 13)])
@pytest.mark.parametrize(
    "special",
    [
        SpecialTokens.none(0),
        SpecialTokens.none(0, earlier=True),
        SpecialTokens(np.array([2]), np.array([3]), np.array([3]), 0),
        SpecialTokens(np.array([], int), np.array([9, 9]), np.array([7, 8]), 0),
    ],
)
@pytest.mark.parametrize("lengths", [Lengths(4, 4), Lengths(11, 6), Lengths(96, 32)])
def test_a_batch_of_sequences_is_what_assembling_each_gives(
    train, pairs, tmp_path_factory, roles, special, lengths
):
    cache = tmp_path_factory.getbasetemp() / "batch-cache"
    if not cache.exists():
        model = tmp_path_factory.mktemp("batches") / "m"
        train(*STATIC, "--max-steps", "0", "--cache", cache, "-o", model, pairs, small=False)
    store = Store(next(path for path in cache.iterdir() if path.is_dir()))
    joining = Joining(special, lengths, roles)
    some = np.r_[0, np.random.default_rng(0).integers(0, len(store), 200)]
    for pair, ours in zip(some, contexts(store, some, joining), strict=True):
        where = store.context(int(pair))
        turns = [store.utterance(int(turn)) for turn in store.turns[where]]
        spoken = [roles[role] for role in store.roles[where]] if roles else None
        limit, newest = lengths.context, len(turns) > 1
        expected, _ = assemble(turns, special, max_length=limit, newest=newest, roles=spoken)
        np.testing.assert_array_equal(ours, expected)
    for pair, ours in zip(some, responses(store, some, joining), strict=True):
        turn = store.utterance(int(store.response[pair]))
        spoken = [roles[store.response_role[pair]]] if roles else None
        length = lengths.response
        expected, _ = assemble([turn], special, max_length=length, newest=False, roles=spoken)
        np.testing.assert_array_equal(ours, expected)


def test_what_it_saves_has_the_mean_of_its_unit_vectors_of_the_responses_as_its_centre(
    train: Train, tmp_path: Path
):
    from sentence_transformers import SentenceTransformer

    rows = pair_records(40, windows=[1, 2])
    short = (*STATIC, "--batch-size", "32", "--max-steps", "5")
    for name, flags in {"whole": ("--no-center",), "centred": ()}.items():
        train(*short, *flags, "-o", tmp_path / name, stdin=as_lines(rows), small=False)
    whole, centred = (load_encoder(str(tmp_path / name)) for name in ("whole", "centred"))
    assert weights(tmp_path / "whole") == weights(tmp_path / "centred") and whole.center is None
    theirs = SentenceTransformer(str(tmp_path / "whole"), device="cpu")
    unit = theirs.encode([row["response"] for row in rows], normalize_embeddings=True)
    np.testing.assert_allclose(centred.center, unit.mean(0), atol=1e-6)
    assert "less their mean over the texts" in (tmp_path / "centred" / "README.md").read_text()


def test_a_start_that_learns_nothing_keeps_its_centre(train: Train, trained: Path, pairs, tmp_path):
    still = ("--model", trained, "--max-steps", 0, "-o", tmp_path / "still", pairs)
    train(*still, small=False)
    assert weights(tmp_path / "still") == weights(trained)
    still, start = (load_encoder(str(model)).center for model in (tmp_path / "still", trained))
    np.testing.assert_array_equal(still, start)


def test_validation_is_of_the_vectors_that_are_saved(
    train: Train, trained: Path, pairs: Path, tmp_path: Path
):
    run = (*RUN, "--validation", pairs, "--no-center", "-o", tmp_path / "whole", pairs)
    train(*run, small=False)
    assert top_1(trained)[0] == top_1(tmp_path / "whole")[0]
    assert top_1(trained)[-1] != top_1(tmp_path / "whole")[-1]
    again = ("--model", trained, "--max-steps", 1, "--validation", pairs, "-o", tmp_path / "again")
    train(*again, pairs, small=False)
    assert top_1(tmp_path / "again")[0] == top_1(trained)[-1]

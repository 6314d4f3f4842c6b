"""dialtools weigh: a model that averages its tokens by how rare they are in a log."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from pair_corpus import Train, as_lines, pair_records
from safetensors.numpy import load_file, save_file

from dialtools.encoder.batches import pad
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.token_weights import (
    TENSOR,
    by_rarity,
    read_token_weights,
    scaled,
    write_token_weights,
)
from dialtools.errors import ModelError

TEXTS = [record["response"] for record in pair_records(40)]
LOG = [*TEXTS, *TEXTS[:9]]
HALF_AT = 0.02
Run = Callable[..., subprocess.CompletedProcess]
MODULE = "1_WordWeights"


@pytest.fixture
def run(call: Run, tmp_path: Path) -> Run:
    """Run a command in a folder that holds texts.jsonl, and log.jsonl where some occur twice."""
    for name, texts in (("texts", TEXTS), ("log", LOG)):
        (tmp_path / f"{name}.jsonl").write_bytes(as_lines([{"text": text} for text in texts]))
    return call


@pytest.fixture
def weighed(run: Run, tmp_path: Path, model: Path) -> Path:
    run("dialtools weigh --half-at", HALF_AT, "--model", model, "log.jsonl", "-o", "w")
    return tmp_path / "w"


def vectors(run: Run, home: Path, model: object, *options: object) -> np.ndarray:
    """Return the (N, D) vectors of the texts, by dial-embed."""
    flags = ("--overwrite", *options, "texts.jsonl", "-o", "v.parquet")
    run("dial-embed -q --device cpu --model", model, *flags)
    column = pq.read_table(home / "v.parquet")["embedding"].combine_chunks()
    return column.flatten().to_numpy().reshape(len(column), -1)


def transcribed(model: Path) -> np.ndarray:
    """Return the (N, D) vectors of the texts: SIF's weighted average, a text at a time."""
    encoder = load_encoder(str(model)).eval()
    ids = {text: encoder.tokenizer(text)["input_ids"] for text in LOG}
    counts = Counter(token for text in LOG for token in ids[text])
    total = sum(counts.values())
    rows = []
    for text in TEXTS:
        with torch.inference_mode():
            (tokens,) = encoder.backbone(torch.tensor([ids[text]])).last_hidden_state.double()
        weights = [HALF_AT / (HALF_AT + counts[token] / total) for token in ids[text]]
        each = [weight * token for weight, token in zip(weights, tokens, strict=True)]
        rows.append((sum(each) / sum(weights)).numpy())
    return np.stack(rows)


def test_a_vector_is_the_average_weighed_by_rarity_for_others_too(
    run: Run, tmp_path: Path, model: Path
):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    done = run("dialtools weigh --model", model, "--half-at", HALF_AT, "log.jsonl", "-o", "w")
    assert done.stdout == b"w\n" and f"{len(LOG):,} texts of".encode() in done.stderr
    least = done.stderr.decode().partition("; least weigh ")[2]
    assert least.startswith('"[') and least.count('" 0.') == 5, "[CLS] and [SEP] are everywhere"
    ours = vectors(run, tmp_path, "w", "--no-normalize")
    np.testing.assert_allclose(ours, transcribed(model), atol=2e-6)
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "w"), device="cpu")
    np.testing.assert_allclose(theirs.encode(TEXTS), vectors(run, tmp_path, "w"), atol=1e-5)


def test_with_a_centre_behind_it_others_still_embed_alike(run: Run, tmp_path: Path, weighed: Path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    run("dialtools center --model w log.jsonl -o c")
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "c"), device="cpu")
    np.testing.assert_allclose(theirs.encode(TEXTS), vectors(run, tmp_path, "c"), atol=1e-5)
    assert load_encoder(str(tmp_path / "c")).token_weights is not None


def test_weights_of_layers_stay_and_what_made_the_model_is_told(
    run: Run, tmp_path: Path, model: Path, weighed: Path
):
    before, after = (load_file(path / "model.safetensors") for path in (model, weighed))
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    facts = json.loads((weighed / "dialtools.json").read_text())
    assert facts["command"] == "dialtools weigh" and facts["counts"]["texts"] == len(LOG)
    assert facts["parents"][0]["provenance"]["command"] == "dial-train"


def test_older_readers_find_each_token_with_its_weight(model: Path, tmp_path: Path):
    encoder = load_encoder(str(model))
    tokens = encoder.tokenizer.convert_ids_to_tokens(list(range(len(encoder.tokenizer))))
    weights = torch.rand(len(tokens) + 3) + 0.5  # a table of vectors may be longer
    write_token_weights(weights, encoder.tokenizer, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    assert config["vocab"][:-3] == tokens and len(config["vocab"]) == len(weights)
    assert [config["word_weights"][name] for name in config["vocab"]] == weights.tolist()
    assert torch.equal(read_token_weights(tmp_path, tokens=len(tokens)), weights)


def test_weights_take_the_place_of_others_and_a_centre_goes(
    run: Run, tmp_path: Path, model: Path, weighed: Path
):
    run("dialtools weigh -n 3 --model", model, "log.jsonl", "-o", "few")
    run("dialtools center --model few log.jsonl -o centred")
    done = run("dialtools weigh --model centred log.jsonl -o again --half-at", HALF_AT)
    assert b"centre of centred left out; dialtools center gives another" in done.stderr
    once, again = load_encoder(str(weighed)), load_encoder(str(tmp_path / "again"))
    assert once.digest() == again.digest() and again.center is None
    assert once.digest() != load_encoder(str(tmp_path / "few")).digest()


def test_a_mean_of_ones_own_has_the_weights_and_another_pooling_has_none(
    run: Run, tmp_path: Path, model: Path, weighed: Path
):
    flags = ("--pooling", "mean", "--no-normalize")
    np.testing.assert_allclose(vectors(run, tmp_path, "w", *flags), transcribed(model), atol=2e-6)
    plain = vectors(run, tmp_path, model, "--pooling", "max")
    np.testing.assert_array_equal(vectors(run, tmp_path, "w", "--pooling", "max"), plain)


@pytest.mark.parametrize(
    "method", ["dse", "dialoguecse --freeze 0 --negatives all"], ids=["pooled", "token by token"]
)
def test_training_goes_on_with_the_weights(
    run: Run, train: Train, tmp_path: Path, model: Path, weighed: Path, pairs: Path, method: str
):
    flags = ("--max-steps", 2, "--batch-size", 16, "--threads", 1, "--device", "cpu")
    for start, name in ((weighed, "learnt"), (model, "plain")):
        line = ("--method", *method.split(), *flags, "-o", tmp_path / name)
        train("--model", start, *line, pairs, small=False)
    start, learnt, plain = (load_encoder(str(tmp_path / name)) for name in ("w", "learnt", "plain"))
    assert torch.equal(learnt.token_weights, start.token_weights)
    learnt.token_weights = None
    assert learnt.digest() != plain.digest()


def test_training_that_has_no_use_for_the_weights_says_so(
    train: Train, tmp_path: Path, weighed: Path, pairs: Path
):
    flags = ("--max-steps", 0, "--threads", 1, "--device", "cpu", "-o", tmp_path / "t", pairs)
    done = train("--model", weighed, "--pooling", "cls", *flags, small=False)
    assert b"trained without its weights of tokens" in done.stderr
    assert load_encoder(str(tmp_path / "t")).token_weights is None


def test_the_plain_mean_of_scaled_tokens_is_the_text_s_vector(weighed: Path):
    encoder = load_encoder(str(weighed)).eval()
    rows = [np.array(encoder.tokenizer(text)["input_ids"]) for text in TEXTS[:5]]
    ids, mask = pad(rows, encoder.special)
    with torch.inference_mode():
        tokens, pooled = encoder.both(ids, mask)
    weights = encoder.weights_of(ids, mask)
    means = scaled(tokens, weights).sum(1) / mask.sum(1, keepdim=True)
    torch.testing.assert_close(means, pooled)


def test_tokens_that_a_recipe_adds_count_least(weighed: Path):
    encoder = load_encoder(str(weighed))
    known = len(encoder.tokenizer)
    before = encoder.token_weights
    encoder.use_speaker_tokens()
    encoder.add_tokens(["[city]"])
    after = encoder.token_weights
    assert len(after) == known + 3 == encoder.backbone.get_input_embeddings().num_embeddings
    assert torch.equal(after[:known], before) and (after[known:] == before.min()).all()


def test_rarity_by_hand():
    weights = by_rarity(np.array([0, 1, 3]), 0.25)
    assert weights.tolist() == [1, 0.5, 0.25]


def test_models_are_merged_with_a_start_of_the_same_weights(
    run: Run, train: Train, tmp_path: Path, model: Path, weighed: Path, pairs: Path
):
    flags = ("--max-steps", 1, "--batch-size", 16, "--threads", 1, "--device", "cpu")
    train("--model", weighed, *flags, "-o", tmp_path / "t", pairs, small=False)
    run("dialtools merge w t*0.5 -o m")
    merged = load_encoder(str(tmp_path / "m"))
    assert torch.equal(merged.token_weights, load_encoder(str(weighed)).token_weights)
    done = run("dialtools merge", model, "t", "-o", "no", code=1)
    assert b"t: its tokens weigh otherwise than in" in done.stderr
    assert not (tmp_path / "no").exists()


ONES = np.ones((12, 1), np.float32)


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ({TENSOR: np.append(ONES, [[-1]], 0)}, "not above zero"),
        ({TENSOR: np.append(ONES, [[np.inf]], 0)}, "not above zero"),
        ({TENSOR: ONES[:9]}, "weights of 9 tokens, but the tokenizer knows 12"),
        ({TENSOR: ONES.repeat(2, 1)}, "of one column"),
        ({TENSOR: ONES.astype(int)}, "expected decimals"),
        ({"weight": ONES}, "expected one tensor"),
    ],
)
def test_a_damaged_module_is_refused(tmp_path: Path, tensors: dict[str, np.ndarray], says: str):
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=f"model.safetensors: .*{says}"):
        read_token_weights(tmp_path, tokens=12)


def test_weights_without_an_average_are_refused(run: Run, tmp_path: Path, weighed: Path):
    config = weighed / "2_Pooling/config.json"
    facts = json.loads(config.read_text())
    facts |= {"pooling_mode": "cls", "pooling_mode_mean_tokens": False}
    config.write_text(json.dumps(facts | {"pooling_mode_cls_token": True}))
    done = run("dial-embed --model w texts.jsonl -o v.parquet", code=1)
    assert b"weights of tokens whose vectors are not averaged" in done.stderr


def test_what_cannot_be_weighed_is_told_and_nothing_is_left(
    run: Run, train: Train, tmp_path: Path, model: Path, pairs: Path
):
    (tmp_path / "words.txt").write_text("the 1 0 0\nto 0 1 0\n")
    shutil.copytree(model, tmp_path / "m")
    static = ("--encoder", "static", "--hidden", 64, "--max-steps", 0, "--threads", 1)
    train(*static, "-o", tmp_path / "static", pairs, small=False)
    weigh = "dialtools weigh --model m -o w"
    for command, stdin, code, says in (
        ("dialtools weigh log.jsonl -o w", b"", 2, b"--model DIR is needed"),
        ("dialtools weigh --model m log.jsonl", b"", 2, b"-o DIR"),
        ("dialtools weigh --model words.txt log.jsonl -o w", b"", 2, b"no place for weights"),
        ("dialtools weigh --model static log.jsonl -o w", b"", 2, b"weights in its vectors"),
        (f"{weigh} --half-at 0 log.jsonl", b"", 2, b"must be 1e-09 or more"),
        (f"{weigh} -n 0 log.jsonl", b"", 2, b"must be 1 or more"),
        (f"{weigh} log.jsonl --field txt", b"", 2, b"no field 'txt'"),
        (weigh, b'{"text": 5}\n', 1, b"text"),
    ):
        done = run(command, stdin=stdin, code=code)
        assert says in done.stderr and not done.stdout, command
        assert len(done.stderr.splitlines()) <= 2 and not (tmp_path / "w").exists()
    assert run(f"{weigh} log.jsonl").stdout == b"w\n"
    assert b"exists" in run(f"{weigh} log.jsonl", code=1).stderr

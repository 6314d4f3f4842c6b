"""dial-train from pairs to a model directory, as its users see it."""

from __future__ import annotations

import json
import math
import os
import shlex
from pathlib import Path

import numpy as np
import pytest
from pair_corpus import Train, as_lines, pair_records, steps, weights

RUN = ("--batch-size", 32, "--max-steps", 6)


@pytest.fixture(scope="module")
def model(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("end") / "model"
    train("--batch-size", 32, "--epochs", 8, "--lr", "1e-3", "-o", path, pairs)
    return path


def test_training_lowers_the_loss_and_logs_every_step(model: Path):
    log = steps(model / "train-log.jsonl")
    assert [row["step"] for row in log] == list(range(1, len(log) + 1))
    assert {"epoch", "loss", "lr", "alignment", "uniformity"} <= set(log[0])
    first, final = (
        np.mean([row["loss"] for row in log[:5]]),
        np.mean([row["loss"] for row in log[-5:]]),
    )
    assert final < 0.85 * first


def test_the_model_says_what_made_it_and_is_made_again_from_its_config_but_for_another_seed(
    train: Train, pairs: Path, tmp_path: Path
):
    model = tmp_path / "model"
    train(*RUN, "-o", model, pairs)
    facts = json.loads((model / "dialtools.json").read_text())
    assert (
        facts["options"]["batch-size"] == 32 and facts["inputs"][0]["bytes"] == pairs.stat().st_size
    )
    card = (model / "README.md").read_text()
    assert card.startswith("---\n")
    assert "`dial-train --config dialtools.toml PAIRS -o NEW` runs it again" in card
    for name, seed in (("again", ()), ("other", ("--seed", 1))):
        config = ("--config", model / "dialtools.toml", *seed)
        train(*config, "-o", tmp_path / name, pairs, small=False)
    assert weights(tmp_path / "again") == weights(model) != weights(tmp_path / "other")


def test_transformers_and_sentence_transformers_give_the_same_embeddings(model: Path):
    import torch
    from oracles.slow_tokens import assemble
    from transformers import AutoModel, AutoTokenizer

    from dialtools.encoder.encode import encode
    from dialtools.encoder.loading import load_encoder
    from dialtools.encoder.tokens import tokenise

    sentence_transformers = pytest.importorskip(
        "sentence_transformers", reason="needs the test extra"
    )
    texts = ["i want a thai restaurant in oslo", "yes please", "on friday"]
    encoder = load_encoder(str(model))
    ids, offsets = tokenise(encoder.tokenizer, texts)
    turns = [ids[offsets[i] : offsets[i + 1]] for i in range(len(texts))]
    sequences = [
        assemble([turn], encoder.special, max_length=32, newest=False)[0] for turn in turns
    ]
    ours = encode(encoder, sequences, batch_tokens=64)
    theirs = sentence_transformers.SentenceTransformer(str(model), device="cpu").encode(texts)
    batch = AutoTokenizer.from_pretrained(model)(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = AutoModel.from_pretrained(model).eval()(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1)
    plain = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
    np.testing.assert_allclose(ours, theirs, atol=2e-6)
    np.testing.assert_allclose(ours, plain, atol=2e-6)


@pytest.mark.parametrize("flags", [(), ("--speaker-tokens",)])
def test_a_context_in_sentence_transformers_is_what_the_card_says(
    flags: tuple[str, ...], train: Train, pairs: Path, tmp_path: Path
):
    from dialtools.encoder.encode import encode
    from dialtools.encoder.loading import load_encoder
    from dialtools.encoder.sequences import sequences_of

    theirs = pytest.importorskip("sentence_transformers", reason="needs the test extra")
    train("--max-steps", 1, *flags, "-o", tmp_path / "model", pairs)
    card = (tmp_path / "model" / "README.md").read_text()
    text = "[USR]hi[SYS]yes" if flags else "hi[SEP]yes"
    assert f'`model.encode("{text}")`' in card or '`model.encode("[SEP]".join(turns))`' in card
    encoder = load_encoder(str(tmp_path / "model"))
    sequences, *_ = sequences_of(encoder, [(("hi", "yes"), (1, 2))], 32)
    there = theirs.SentenceTransformer(str(tmp_path / "model"), device="cpu")
    vector_D = there.encode(text)
    np.testing.assert_allclose(vector_D, encode(encoder, sequences, batch_tokens=64)[0], atol=2e-6)
    assert "a long context loses its newest words there" in card
    long = " hi" * encoder.max_length
    np.testing.assert_array_equal(there.encode(long + text), there.encode(long))


def test_the_card_of_a_static_encoder_says_what_encodes_contexts_of_several_turns(
    train: Train, pairs: Path, tmp_path: Path
):
    alone = "encoded as in training by `dial-embed` alone"
    single = pair_records(10, windows=[1])
    for name, rows in (("several", pair_records(10)), ("single", single)):
        run = ("--max-steps", 0, "--device", "cpu", "-o", tmp_path / name)
        train(*run, stdin=as_lines(rows), small=False)
        card = (tmp_path / name / "README.md").read_text()
        assert (alone in card) == (name == "several") and ".join(turns)" not in card


def test_the_model_tells_where_each_option_came_from_as_print_config_does(
    train: Train, pairs: Path, tmp_path: Path
):
    (tmp_path / "run.toml").write_text("lr = 2e-3\n")
    run = (*RUN, "--config", tmp_path / "run.toml", "-o", tmp_path / "model", pairs)
    train(*run)
    told = (tmp_path / "model" / "dialtools.toml").read_text()
    shown = train(*run, "--print-config").stdout.decode().splitlines(keepends=True)
    how = ("resume = ", "overwrite = ")  # of this run alone: the model is the same either way
    assert told == "".join(line for line in shown if not line.startswith(how))
    assert "batch-size = 32  # flag\n" in told
    assert f"lr = 0.002  # {tmp_path}/run.toml\n" in told
    assert 'optimizer = "adamw"  # fresh encoder\n' in told
    assert "temperature = 0.05  # recipe dse\n" in told
    assert "checkpoint-every = 200  # default\n" in told


def test_card_and_stderr_say_what_a_fresh_encoder_replaced_of_the_recipe(
    train: Train, minilm: str, pairs: Path, tmp_path: Path
):
    done = train("--max-steps", 0, "--lr", "2e-3", "-o", tmp_path / "fresh", pairs)
    (line,) = (line for line in done.stderr.splitlines() if b"batch-size" in line)
    assert b"recipe dse" in line and b"loss nt-xent" in line and b"lr" not in line.split()
    card = (tmp_path / "fresh" / "README.md").read_text()
    assert "In place of what the recipe publishes: " in card
    assert "loss nt-xent (not hard-negative)" in card and "lr 0.002" not in card
    start = ("--model", minilm, "--max-steps", 0, "--threads", 1, "--device", "cpu")
    done = train(*start, "-o", tmp_path / "tuned", pairs, small=False)
    assert b"fresh" not in done.stderr
    assert "In place of" not in (tmp_path / "tuned" / "README.md").read_text()


def test_held_is_told_of_where_nobody_chose_a_method_and_the_start_embeds_sentences(
    train: Train, model: Path, pairs: Path, tmp_path: Path
):
    step = ("--max-steps", 1, "--batch-size", 4, "--overwrite", "-o", tmp_path / "tuned", pairs)
    start = ("--model", model, *step)
    told = b"model embeds sentences already; --method held (1 step) learns replies"
    assert told in train(*start, small=False).stderr
    static = train(*start[:2], *start[4:], "--encoder", "static", small=False).stderr
    assert told.replace(b" (1 step)", b"") in static
    for chosen in (("--method", "dse"), ("--method", "held"), ("--objective", "contrast")):
        assert told not in train(*start, *chosen, small=False).stderr
    assert told not in train(*step, small=False).stderr


def test_gradient_caching_in_small_micro_batches_leaves_the_loss_as_it_is(
    train: Train, pairs: Path, tmp_path: Path
):
    run = (*RUN, "--method", "wmdc", "--batches", "mixed", "--micro-batch-tokens", 128)
    for name in ("on", "off"):
        train(*run, "--grad-cache", name, "-o", tmp_path / name, pairs)
    cached, kept = (steps(tmp_path / name / "train-log.jsonl") for name in ("on", "off"))
    np.testing.assert_allclose(
        [row["loss"] for row in cached], [row["loss"] for row in kept], rtol=1e-4
    )


def test_a_batch_larger_than_the_corpus_takes_what_there_is(
    train: Train, pairs: Path, tmp_path: Path
):
    train("--batch-size", 100_000, "--epochs", 2, "-o", tmp_path / "model", pairs)
    assert len(steps(tmp_path / "model" / "train-log.jsonl")) == 2


def test_raw_dot_products_train(train: Train, pairs: Path, tmp_path: Path):
    train(*RUN, "--method", "todbert", "-o", tmp_path / "model", pairs)
    log = steps(tmp_path / "model" / "train-log.jsonl")
    assert len(log) == 6 and all(math.isfinite(row["loss"]) for row in log)


def test_self_pairs_see_two_dropout_masks(train: Train, tmp_path: Path):
    """Were a text and itself encoded once, alignment would be exactly 0."""
    rows = [
        {**r, "context": [r["response"]], "kind": "self", "window": 1} for r in pair_records(10)
    ]
    train(
        *shlex.split("--method simcse --batch-size 16 --max-steps 2 -o"),
        tmp_path / "model",
        stdin=as_lines(rows),
    )
    assert steps(tmp_path / "model" / "train-log.jsonl")[0]["alignment"] > 1e-4


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_batch(
    train: Train, pairs: Path, tmp_path: Path
):
    done = train(
        *RUN,
        *shlex.split("--lr 1e30 --clip 0 --schedule constant -o"),
        tmp_path / "model",
        pairs,
        code=1,
    )
    batch = tmp_path / "model.partial" / "nan-batch.jsonl"
    assert b"nan-batch.jsonl" in done.stderr and not (tmp_path / "model").exists()
    row = json.loads(batch.read_text().splitlines()[0])
    assert isinstance(row["context"], list) and isinstance(row["response"], str)


def test_a_model_that_exists_is_kept_unless_told_otherwise(
    train: Train, pairs: Path, tmp_path: Path
):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "precious").write_text("x")
    (tmp_path / "model" / "config.json").write_text("{}")
    train(*RUN, "-o", tmp_path / "model", pairs, code=1)
    assert (tmp_path / "model" / "precious").read_text() == "x"
    train(*RUN, "--overwrite", "-o", tmp_path / "model", pairs)
    assert {"model.safetensors", "modules.json"} <= {p.name for p in (tmp_path / "model").iterdir()}
    assert not (tmp_path / "model" / "precious").exists()


@pytest.mark.parametrize("flag", ["--resume", "--overwrite", "--dry-run", "-q"])
def test_a_pipe_given_as_the_model_stays_a_pipe(
    train: Train, pairs: Path, tmp_path: Path, flag: str
):
    os.mkfifo(tmp_path / "pipe")
    assert b"is no directory" in train(*RUN, flag, "-o", tmp_path / "pipe", pairs, code=1).stderr
    assert (tmp_path / "pipe").is_fifo()


def test_validation_keeps_whole_dialogues_apart_and_logs_its_accuracy(
    train: Train, pairs: Path, tmp_path: Path
):
    flags = shlex.split("--validation-share 0.25 --validate-every 3 --keep-best -o")
    done = train(*RUN, *flags, tmp_path / "model", pairs)
    lines = (tmp_path / "model" / "train-log.jsonl").read_text().splitlines()
    log = [row for row in map(json.loads, lines) if "top-1" in row]
    assert [row["step"] for row in log] == [0, 3, 6]
    assert all(0 <= value <= 100 for row in log for key, value in row.items() if "top" in key)

    facts = json.loads((tmp_path / "model" / "dialtools.json").read_text())
    best = max(log[1:], key=lambda row: [row[f"top-{k}"] for k in (1, 3, 10)])
    told = facts["validation"]
    assert told["pairs"] == 100 == told["candidates"]
    assert told["before"].items() <= log[0].items() and told["after"].items() <= best.items()
    assert set(told["before"]) == set(told["after"]) and len(told["after"]) == 5
    final = {"step": 6, **facts["final"]}  # told where it is not the last
    assert {name: final[name] for name in ("step", "top-1", "loss", "alignment")} == {
        name: best[name] for name in ("step", "top-1", "loss", "alignment")
    }, "of the model that was saved"
    assert b"100 validation pairs, 1 of 100, before -> after: top-1 " in done.stderr
    closing = f"loss {best['loss']:.3f} at step {best['step']}, the best "
    assert closing in done.stderr.decode()
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"| top-1 | {log[0]['top-1']:.4g} | {best['top-1']:.4g} |" in card


@pytest.mark.parametrize(
    "flags", [("--method", "dsee"), ("--loss", "nt-xnt"), ("--pooling", "men"), ("--epochs", "x")]
)
def test_a_misspelt_choice_is_a_usage_error(
    flags: tuple[str, str], train: Train, pairs: Path, tmp_path: Path
):
    done = train(*flags, "-o", tmp_path / "model", pairs, code=2)
    assert flags[0].encode() in done.stderr or flags[1].encode() in done.stderr
    assert not (tmp_path / "model").exists()


def test_a_missing_model_is_named_with_a_way_to_get_it(train: Train, pairs: Path, tmp_path: Path):
    done = train("--model", "nobody/nothing", "-o", tmp_path / "model", pairs, code=1, small=False)
    assert b"nobody/nothing" in done.stderr and b"download" in done.stderr


def test_a_dry_run_tells_what_a_run_then_does_and_writes_nothing(
    train: Train, pairs: Path, tmp_path: Path
):
    run = (
        *shlex.split("--batch-size 32 --epochs 2 --validation-share 0.2 --max-length 8 -o"),
        tmp_path / "model",
        pairs,
    )
    planned = train(*run, "--dry-run")
    lines = pairs.read_bytes() + b"{\n"
    train(
        "--dry-run",
        "--on-error",
        f"quarantine={tmp_path}/bad.jsonl",
        "--cache",
        tmp_path / "cache",
        stdin=lines,
        code=3,
    )
    assert not list(tmp_path.iterdir())
    plan = dict(line.split(maxsplit=1) for line in planned.stdout.decode().splitlines())
    told = train(*run).stderr.decode()
    assert plan["cut"] in told and "longer than 8 tokens, and cut as responses: " in plan["cut"]
    log, facts = (
        steps(tmp_path / "model/train-log.jsonl"),
        json.loads((tmp_path / "model/dialtools.json").read_text()),
    )
    trained, texts = facts["counts"]["pairs_trained_on"], facts["counts"]["utterances"]
    assert plan["steps"] == f"{len(log)}, {len(log) // 2} an epoch"
    assert plan["pairs"] == f"{trained} to train on, {facts['counts']['pairs'] - trained} held out"
    assert plan["texts"].startswith(f"{texts} distinct, ")
    assert plan["batch"].startswith(f"32 pairs, {log[0]['tokens']:,} tokens in the first")
    assert plan["encoder"].startswith("fresh: 1 layer x 64") and plan["writes"].startswith(
        f"{tmp_path}/model, "
    )

"""Options of training, settled: nothing unsaid, no second default, each objective's own."""

from __future__ import annotations

import ast
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import orjson
import pytest
from pair_corpus import SMALL, Train, as_lines, pair_records, steps, weights
from train_parts import recipe_options

from dialtools.cli.train import main as dial_train
from dialtools.errors import ConfigError
from dialtools.train import recipe
from dialtools.train.hyperparameters import Hyperparameters
from dialtools.train.objectives.catalog import OBJECTIVES
from dialtools.train.options import hyperparameters, objective_options

ROOM = Path(recipe.__file__).parent


@pytest.mark.parametrize("name", recipe.names())
@pytest.mark.parametrize("start", [{}, {"model": "x"}])
def test_no_value_of_any_recipe_is_unsaid_once_it_is_settled(name: str, start: dict):
    options = recipe_options(method=name, **start)
    for values in (hyperparameters(options), objective_options(options)):
        assert None not in vars(values).values()
        for each in fields(values):
            with pytest.raises(FrozenInstanceError):
                setattr(values, each.name, 1)


def test_a_value_that_nothing_says_is_named():
    with pytest.raises(ConfigError, match="--temperature is not set"):
        dial_train.resolve({"method": "siamese-m", "objective": "matching", "aggregation": "mean"})


def test_options_of_one_name_are_one_option():
    """Objectives share an option by a common base; two of one name would hide each other."""
    declared: dict[str, object] = {}
    for entry in OBJECTIVES.values():
        for each in fields(entry.options):
            assert declared.setdefault(each.name, each.metadata) == each.metadata, each.name


def test_every_objective_names_a_recipe_that_is_its_own():
    for name, entry in OBJECTIVES.items():
        assert recipe.published(entry.recipe)["objective"] == name


def test_a_default_stands_in_one_place():
    """`options.temperature or 0.05` would be a second default, and turn a 0 into it."""
    kinds = [Hyperparameters, *(entry.options for entry in OBJECTIVES.values())]
    names = {each.name for kind in kinds for each in fields(kind)}
    again = [
        f"{path.name}: {ast.unparse(node)}"
        for path in ROOM.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
        if isinstance(first := node.values[0], ast.Attribute) and first.attr in names
    ]
    assert again == []


def test_no_epochs_save_the_start_as_no_steps_do(train: Train, pairs: Path, tmp_path: Path):
    train("--epochs", 0, "-o", tmp_path / "epochs", pairs)
    train("--max-steps", 0, "-o", tmp_path / "steps", pairs)
    assert weights(tmp_path / "epochs") == weights(tmp_path / "steps")
    assert steps(tmp_path / "epochs" / "train-log.jsonl") == []


def test_no_share_of_masked_words_hides_one_word_of_each_text(train: Train, tmp_path: Path):
    rows = as_lines(pair_records(8))
    run = ("--method", "mlm", "--max-steps", 2)
    for share in ("0", "0.001", "0.15"):
        train(*run, "--mask-share", share, "-o", tmp_path / share, stdin=rows)
    assert weights(tmp_path / "0") == weights(tmp_path / "0.001")
    assert weights(tmp_path / "0") != weights(tmp_path / "0.15")


def test_a_learning_rate_of_0_leaves_the_weights_as_they_are(
    train: Train, pairs: Path, tmp_path: Path
):
    train("--max-steps", 2, "--lr", 0, "--weight-decay", 0, "-o", tmp_path / "still", pairs)
    train("--max-steps", 0, "-o", tmp_path / "start", pairs)
    assert weights(tmp_path / "still") == weights(tmp_path / "start")


@pytest.mark.parametrize("flag", ["--temperature", "--template-temperature", "--pair-temperature"])
def test_a_temperature_must_be_above_0(flag: str, train: Train, pairs: Path, tmp_path: Path):
    done = train("--method", "tadse", flag, 0, "-o", tmp_path / "model", pairs, code=2)
    assert f"{flag}: '0': must be above 0".encode() in done.stderr


def test_the_size_of_a_fresh_encoder_is_refused_beside_a_model(train: Train, pairs: Path):
    says = b"--hidden, --layers and --vocab-size belong to a fresh encoder, not to --model"
    for size in (SMALL, ("--hidden", 256), ("--layers", 2), ("--vocab-size", 8000)):
        assert says in train("--model", "x", *size, pairs, code=2, small=False).stderr


def test_what_is_asked_for_and_no_pair_has_is_told(train: Train, pairs: Path, tmp_path: Path):
    asked = ("--window", "1,2,3,9", "--weights", "given", "--max-steps", "1")
    done = train(*asked, "-o", tmp_path / "m", pairs)
    said = done.stderr.decode()
    assert "--window 9: no pair is of that size" in said
    assert "--weights given: no pair has a weight, and all count alike" in said
    assert "epochs" not in said, "--max-steps says how long"


def test_kinds_and_speakers_that_no_pair_tells_apart_are_told(train: Train, tmp_path: Path):
    told = (
        b"--batches by-kind: all pairs are of one kind",
        b"--speaker-tokens: no pair says whether a user or the system speaks",
    )
    asked = ("--batches", "by-kind", "--speaker-tokens", "--max-steps", "0", "--overwrite")
    pairs = [{"context": [f"hello {i}"], "response": f"fine {i}"} for i in range(3)]

    def said(*records: dict[str, Any]) -> bytes:
        (tmp_path / "p.jsonl").write_bytes(b"\n".join(map(orjson.dumps, records)))
        return train(*asked, "-o", tmp_path / "m", tmp_path / "p.jsonl").stderr

    assert all(line in said(*pairs) for line in told)
    of_names = {**pairs[2], "speakers": ["客服", "用户"]}
    nobody = b"--speaker-tokens: nobody is known as a user (dial-pairs --speaker-map NAME=user"
    assert nobody in said(*pairs[:2], of_names)
    last = {**pairs[2], "speakers": ["user", "system"], "kind": "entailment"}
    assert not any(line in said(*pairs[:2], last) for line in told)


def test_a_rate_of_a_head_is_told_where_there_is_none(train: Train, pairs: Path, tmp_path: Path):
    told = b"--head-lr-multiplier changes nothing"
    run = ("--max-steps", "0", "--overwrite", "-o", tmp_path / "m", pairs)
    assert told in train("--head", "none", "--head-lr-multiplier", "3", *run).stderr
    assert told not in train("--head", "none", *run).stderr, "it is the recipe that says one"
    assert told not in train("--head", "mlp", "--head-lr-multiplier", "3", *run).stderr


def test_a_batch_of_more_pairs_than_there_are_is_told(train: Train, tmp_path: Path):
    path = tmp_path / "p.jsonl"
    pairs = ({"context": [f"hello {i}"], "response": f"fine {i}"} for i in range(12))
    path.write_bytes(b"\n".join(map(orjson.dumps, pairs)))
    run = ("--max-steps", "1", "--overwrite", "-o", tmp_path / "m", path)
    told = b"--batch-size 16: a step has all 12 that there are\n"
    assert told in train("--batch-size", "16", *run).stderr
    assert b"a step has all" not in train("--batch-size", "12", *run).stderr


def test_a_static_encoder_has_no_pooling_but_its_mean(train: Train, pairs: Path, tmp_path: Path):
    static = ("--encoder", "static", "--max-steps", "1", "-o", tmp_path / "m")
    done = train(*static, "--pooling", "cls", pairs, code=2, small=False)
    assert b"--pooling cls: a static encoder averages its tokens" in done.stderr
    words = tmp_path / "words.txt"
    words.write_text("2 3\nhello 1 2 3\nyes 3 2 1\n")
    done = train("--model", words, "--pooling", "cls", pairs, code=2, small=False)
    assert b"--pooling cls: a static encoder averages its tokens" in done.stderr
    of_words = ("--model", words, "--method", "simcse", "--max-steps", "1", "-o", tmp_path / "w")
    train(*of_words, pairs, small=False)
    # what a recipe says is for transformers
    assert b"pooling mean" in train(*static, "--method", "simcse", pairs, small=False).stderr

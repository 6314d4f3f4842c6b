"""Recipes: what they hold, what they extend, what a fresh encoder replaces of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialtools.cli.train import main as dial_train
from dialtools.errors import ConfigError
from dialtools.options import Layer, resolve
from dialtools.train import recipe
from dialtools.train.options import TrainOptions
from dialtools.train.start import STATIC

DSE_FAMILY = ("dse-2-1", "dse-3-1", "dse-123-1", "dse-dianli", "dse-dropout")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of recipes."""
    monkeypatch.setattr(recipe, "HOME", tmp_path)
    return tmp_path


def test_every_recipe_resolves_with_and_without_a_model():
    for name in recipe.names():
        for start in ({}, {"model": "x"}):
            options, _ = dial_train.resolve({"method": name, **start})
            assert options.method == name


@pytest.mark.parametrize("name", DSE_FAMILY)
def test_a_recipe_of_the_dse_family_differs_from_dse_in_one_value_at_most(name: str):
    base, ours = recipe.published("dse"), recipe.published(name)
    assert set(base) <= set(ours)
    assert len(ours.items() - base.items()) <= 1


PAPERS = {
    "dse": {"batch-size": 1024, "lr": 3e-6, "head-lr-multiplier": 100},
    "wmdc": {
        **{"batch-size": 256, "lr": 3e-5, "head-lr-multiplier": 40, "weight-decay": 0.01},
        **{"temperature": 0.05, "loss": "info-nce", "head": "window-linear"},
        **{"optimizer": "adamw", "schedule": "one-cycle"},
    },
    "dialoguecse": {
        **{"batch-size": 20, "lr": 5e-5, "temperature": 0.1, "negatives": 9, "freeze": 6},
        **{"context-turns": 3, "aggregation": "mean", "max-length": 50},
    },
}


@pytest.mark.parametrize("name", PAPERS)
def test_a_recipe_holds_what_its_paper_says(name: str):
    options, _ = dial_train.resolve({"method": name, "model": "x"})
    found = {key: getattr(options, key.replace("-", "_")) for key in PAPERS[name]}
    assert found == PAPERS[name]


def test_a_value_that_a_recipe_extends_has_the_origin_where_it_stands():
    _, origins = dial_train.resolve({"method": "dse-2-1", "model": "x"})
    assert origins["context-max-length"] == "recipe dse-2-1"
    assert origins["lr"] == "recipe dse"
    _, origins = dial_train.resolve({"method": "dse-2-1"})
    assert origins["lr"] == "static encoder"
    _, origins = dial_train.resolve({"method": "dse-2-1", "encoder": "transformer"})
    assert origins["lr"] == "fresh encoder"


def test_recipes_extend_in_chains(home: Path):
    (home / "a.toml").write_text('extends = "b"\nlr = 1.0\n')
    (home / "b.toml").write_text('extends = "c"\nlr = 2.0\nclip = 2.0\n')
    (home / "c.toml").write_text('objective = "mlm"\nlr = 3.0\nclip = 3.0\nepochs = 3.0\n')
    values = recipe.published("a")
    assert values == {"objective": "mlm", "lr": 1.0, "clip": 2.0, "epochs": 3.0}


def test_a_recipe_that_extends_itself_is_an_error(home: Path):
    (home / "a.toml").write_text('extends = "b"\n')
    (home / "b.toml").write_text('extends = "a"\n')
    with pytest.raises(ConfigError, match="recipe a extends itself: a -> b -> a"):
        recipe.published("a")


def test_a_recipe_that_extends_none_is_named(home: Path):
    (home / "a.toml").write_text('extends = "bee"\n')
    with pytest.raises(ConfigError, match="recipe a: unknown recipe 'bee'"):
        recipe.published("a")


def test_a_key_that_is_no_option_is_named_with_its_recipe(home: Path):
    (home / "a.toml").write_text('extends = "b"\n')
    (home / "b.toml").write_text('objective = "mlm"\nrate = 1.0\n')
    with pytest.raises(ConfigError, match="recipe b: unknown key 'rate'"):
        resolve(TrainOptions, [Layer("flag", {}), *recipe.layers({"method": "a", "model": "x"})])


def test_a_fresh_start_says_what_it_replaces_of_the_recipe():
    options, _ = dial_train.resolve({"method": "dse", "encoder": "transformer"})
    replaced = recipe.replaced(options)
    assert replaced["loss"] == ("hard-negative", "nt-xent")
    assert replaced["batch-size"] == (1024, 128)
    assert "recipe dse with a fresh encoder's batch-size 128, " in recipe.preset_note(options)
    options, _ = dial_train.resolve({"method": "dse"})
    replaced = recipe.replaced(options)
    assert replaced["loss"] == ("hard-negative", "info-nce")
    assert "batch-size" not in replaced and "vocab-size" not in replaced
    assert replaced["epochs"] == (15, "1, at least 100 steps")
    assert "epochs" not in recipe.replaced(dial_train.resolve({"max-steps": "9"})[0])


def test_what_the_user_says_is_not_replaced_by_a_fresh_start():
    options, _ = dial_train.resolve({"method": "dse", "loss": "dot", "lr": "0.5"})
    assert {"loss", "lr"}.isdisjoint(recipe.replaced(options))
    assert "head" in recipe.replaced(options)


def test_training_from_a_model_replaces_nothing():
    options, _ = dial_train.resolve({"method": "dse", "model": "x"})
    assert recipe.replaced(options) == {}
    assert recipe.preset_note(options) == ""


def test_a_start_that_embeds_sentences_is_held_unless_the_user_names_a_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "modules.json").touch()
    start = {"model": str(tmp_path)}
    held = dial_train.resolve(start)[0]
    assert (held.method, held.center, held.merge_with_start) == ("held", True, 0.5)
    static = dial_train.resolve({**start, "encoder": "static"})[0]  # it has far more to learn
    assert (static.method, static.hold_weight, static.merge_with_start) == ("held", 5, 1)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    others = ({"objective": "contrast"}, {"model": "no/model"}, {"model": None})
    for other in (*others, {"method": "dse"}):
        assert dial_train.resolve({**start, **other})[0].method == "dse"
    (tmp_path / "dialtools.json").write_text('{"options": {"objective": "mlm"}}')
    assert dial_train.resolve(start)[0].method == "dse"


@pytest.mark.parametrize("kind", ["transformer", "static"])
def test_a_teacher_takes_the_place_of_the_start_that_a_recipe_holds_on_to(kind: str):
    given = {"method": "held", "model": "x", "encoder": kind, "teacher": "texts.parquet"}
    assert not dial_train.resolve(given)[0].hold_weight
    with pytest.raises(ConfigError, match="both say where texts belong"):
        dial_train.resolve({**given, "hold-weight": 1})


def test_a_recipe_says_how_many_steps_unless_passes_are_said():
    for name in ("held", "same-answer-held"):
        for chosen, expected in (
            ({"model": "x"}, 150),
            ({"model": "x", "max-steps": 7}, 7),
            ({"model": "x", "epochs": 2}, None),
            ({"model": "x", "min-steps": "300"}, 300),
            ({"model": "x", "min-steps": 9}, 150),
            ({"model": "x", "min-steps": 300, "max-steps": 7}, 7),
            ({"model": "x", "min-steps": 300, "epochs": 2}, None),
            ({}, None),  # a preset goes by passes
        ):
            assert dial_train.resolve({"method": name, **chosen})[0].max_steps == expected


@pytest.mark.parametrize("kind", ["transformer", "static"])
@pytest.mark.parametrize("name", ["same-label", "distill"])
def test_passes_that_the_user_says_are_made_whatever_least_steps_a_recipe_has(name: str, kind: str):
    given = {"method": name, "model": "x", "encoder": kind}
    assert dial_train.resolve(given)[0].min_steps in (30, 100, 300)
    assert dial_train.resolve({**given, "epochs": 2})[0].min_steps is None
    assert dial_train.resolve({**given, "epochs": 2, "min-steps": 9})[0].min_steps == 9


def test_align_makes_more_passes_unless_the_user_says_how_many():
    for start in ({"model": "x"}, {"encoder": "transformer"}, {}):
        chosen = {"method": "tadse", "align": True, **start}
        options, origins = dial_train.resolve(chosen)
        assert (options.epochs, origins["epochs"]) == (8, "--align")
        assert "epochs" not in recipe.replaced(options)
        assert dial_train.resolve({**chosen, "epochs": "3"})[0].epochs == 3
    for off in (False, "false", "0"):
        assert dial_train.resolve({"method": "tadse", "align": off, "model": "x"})[0].epochs == 2


def test_a_table_of_vectors_has_a_mean_whatever_a_recipe_pools_and_a_transformer_its_width(
    tmp_path: Path,
):
    (tmp_path / "words.txt").write_text("yes 0.1 0.2\n")
    table = {"method": "simcse", "model": str(tmp_path / "words.txt")}
    assert dial_train.resolve(table)[0].pooling == "mean"
    assert "hidden" not in recipe.preset("simcse", STATIC, table["model"])
    assert recipe.preset("simcse", STATIC, "x")["hidden"] == 256
    assert dial_train.resolve({"method": "simcse", "model": "x"})[0].pooling == "cls"

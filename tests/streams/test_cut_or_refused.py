"""Options that cut work into parts: what goes together, and what is refused with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from dialtools.errors import ConfigError
from dialtools.options import RunOptions
from dialtools.streams.options import (
    EngineOptions,
    InputOptions,
    OutputOptions,
    ShardOptions,
    TableOutputOptions,
)

OF_THE_WHOLE = {"a table is of all": False}


@dataclass
class Options(RunOptions, EngineOptions, OutputOptions, InputOptions):
    """All that a command with parts has."""


def on_ray(**changed: Any) -> Options:
    return Options(**{"inputs": ("x",), "engine": "ray", "output": "parts", **changed})


def test_a_part_is_named_by_its_flag_and_without_one_there_is_none():
    options = ShardOptions(shard="2/3")
    assert options.part == (2, 3) and options.cut_by == "--shard" and not options.reads_all
    whole = ShardOptions()
    assert (whole.part, whole.cut_by) == (None, "")
    ray = EngineOptions(engine="ray")
    assert ray.on_ray and ray.cut_by == "--engine ray" and ray.part is None
    assert EngineOptions(shard="1/2").cut_by == "--shard" and not EngineOptions().on_ray


@pytest.mark.parametrize("options", [ShardOptions(shard="1/2"), EngineOptions(engine="ray")])
def test_what_only_a_whole_run_knows_is_refused_of_a_part(options: Any):
    options.check_part(("x",), OF_THE_WHOLE)
    for inputs in ((), ("-",), ("x", "-")):
        with pytest.raises(ConfigError, match="parts are cut out of named files, not out of stdin"):
            options.check_part(inputs, OF_THE_WHOLE)
    with pytest.raises(ConfigError) as told:
        options.check_part(("x",), {"no": False, "a table is of all": 3, "nor this": True})
    assert str(told.value) == f"{options.cut_by}: a table is of all"
    assert f"or without {options.cut_by}" in str(told.value.hint)
    EngineOptions().check_part((), {"a table is of all": True})


def test_a_part_says_what_it_is_a_part_of_in_its_table_or_beside_it():
    part = ShardOptions(shard="1/2")
    for output, lines, table in (("x", True, "no"), ("x", False, ""), ("-", False, "")):
        part.check_part_output(output, lines=lines, table=table)
    with pytest.raises(ConfigError, match="--shard: rows of all") as told:
        part.check_part_output("x", lines=False, table="rows of all")
    assert told.value.hint == "--to jsonl can be cut into parts"
    with pytest.raises(ConfigError, match="manifest beside it") as told:
        part.check_part_output("-", lines=True, table="rows of all")
    assert told.value.hint == "name -o FILE"
    for output, lines in (("-", True), ("x", False)):
        ShardOptions().check_part_output(output, lines=lines, table="rows of all")


def test_what_has_no_meaning_on_a_cluster_has_one_without():
    Options().check_engine(Options(), {"odd": True})
    options = on_ray(parts=1, workers=1, address="here:1")
    options.check_engine(options, {"odd": False})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"output": "-"}, "the parts go into a folder: name -o DIR"),
        ({"to": "jsonl"}, "the parts are Parquet"),
        ({"shard": "1/2"}, "it cuts the work into parts itself"),
        ({"dry_run": True}, "--dry-run plans the work of one process"),
        ({"on_error": "quarantine=x"}, "parts cannot share a quarantine file"),
    ],
)
def test_what_has_no_meaning_on_a_cluster_is_refused(changed: dict[str, Any], said: str):
    options = on_ray(**changed)
    with pytest.raises(ConfigError) as told:
        options.check_engine(options, {})
    assert str(told.value).startswith(f"--engine ray: {said}")
    for good in ({}, {"to": "parquet"}, {"on_error": "skip"}):
        options = on_ray(**good)
        options.check_engine(options, {})
    with pytest.raises(ConfigError, match="--engine ray: odd"):
        options.check_engine(options, {"no": False, "odd": 1})


def test_without_a_word_records_go_from_stdin_to_stdout():
    given, made = InputOptions(inputs=()), OutputOptions()
    assert (given.from_, given.on_error, given.bounds, given.limit) == (None, "fail", (), None)
    assert (made.output, made.to, made.overwrite) == ("-", None, False)
    assert TableOutputOptions().to is None
    usual = EngineOptions()
    assert (usual.engine, usual.parts, usual.workers, usual.address) == ("local", None, None, None)

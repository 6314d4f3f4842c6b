"""Texts of options: what is read, and that a printed configuration is read again."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from all_commands import COMMANDS, EVERY_OPTION

from dialtools import values
from dialtools.cli._help import toml, toml_value
from dialtools.errors import ConfigError
from dialtools.options import Layer, Spec, parse_value, resolve
from dialtools.toml import read_toml
from dialtools.values import at_least, bounded, byte_size, either, list_of, subset_of

READ = [
    (values.boolean, "Yes", True),
    (values.number, "1e-3", 0.001),
    (at_least(2), "2", 2),
    (bounded(above=0, high=1), "1", 1.0),
    (list_of(at_least(1)), "3, 1,3", (3, 1)),
    (either({"all": 0}, at_least(0)), "all", 0),
    (values.count_or_all, "all", "all"),
    (values.window_sizes, "all", (0,)),
    (values.window_sizes, "1-3, all,2,9", (1, 2, 3, 0, 9)),
    (values.window_sizes, "0,1", (0, 1)),
    (values.logarithm_base, "e", math.e),
    (values.name_list, "a, b,,a", ("a", "b")),
    (subset_of(("lower", "space")), "space,lower", ("lower", "space")),
    (subset_of(("lower", "space")), "none", ()),
    (values.composed, "e\u0301", "\u00e9"),
    (values.label_list, "e\u0301,b,\u00e9", ("\u00e9", "b")),
    (values.two_labels, "e\u0301,b", ("\u00e9", "b")),
    (values.on_error_policy, "quarantine=bad.jsonl", "quarantine=bad.jsonl"),
    (byte_size(1), "1.5G", 3 << 29),
    (byte_size(1), "2 KiB", 2048),
    (values.time_span, "1.5h", "1.5h"),
    (values.delimiter, "tab", "\t"),
    (values.split_shares, "train=0.98, dev=0.02", ("train=0.98", "dev=0.02")),
    (values.speaker_roles, "agent=system, *=user", ("agent=system", "*=user")),
]
REFUSED = [
    (values.boolean, "maybe", "expected true or false"),
    (values.number, "nan", "expected a number that is finite"),
    (values.number, "-1e31", "expected a number of at most 1e+30"),
    (at_least(2), "1", "must be 2 or more"),
    (at_least(2), "2.0", "expected a whole number"),
    (bounded(above=0, high=1), "0", "must be above 0"),
    (bounded(low=0, below=1), "1", "must be below 1"),
    (bounded(low=0, high=1), "1.5", "must be 1 or less"),
    (list_of(at_least(1)), "3,x", "'x': expected a whole number"),
    (values.window_sizes, "1,x", "'x': expected a whole number, or all"),
    (values.window_sizes, "3-1", "a range goes up, by less than 1,000, or all"),
    (values.ranges, "1-9999", "a range goes up, by less than 1,000"),
    (values.steps_or_epoch, "0", "must be 1 or more, or epoch"),
    (subset_of(("lower", "space")), "upper", "no upper; choose from lower, space, or none"),
    (values.on_error_policy, "quarantine=", "choose from fail, skip, quarantine=FILE"),
    (values.picture, "x.gif", "name it .png, .svg, .pdf"),
    (values.number_of_runs, "1001", "must be 1,000 or less"),
    (byte_size(256 << 20), "1MB", "must be 256MB or more"),
    (values.time_span, "1 hour", "expected a number above 0 and s, m, h or d, such as 30m"),
    (values.time_span, "infh", "expected a number above 0 and s, m, h or d, such as 30m"),
    (
        values.split_shares,
        "a=0.5,a=0.5",
        "names must differ, shares be above 0 and sum to 1 or less",
    ),
    (values.split_shares, "=0.5,b=0.5", "expected NAME=SHARE[,NAME=SHARE...]"),
    (values.speaker_roles, "Kim=user,kim=agent", "names must differ"),
    (values.metric_bound, "accuracy=high", "expected METRIC=VALUE, e.g. accuracy=80"),
]


@pytest.mark.parametrize(("parse", "text", "value"), READ)
def test_a_text_is_read_as_its_value(parse: values.Parser[Any], text: str, value: object):
    assert parse(text) == value


@pytest.mark.parametrize(("parse", "text", "reason"), REFUSED)
def test_a_text_that_is_no_value_is_refused_with_what_is_expected(
    parse: values.Parser[Any], text: str, reason: str
):
    with pytest.raises(ValueError) as refusal:
        parse(text)
    assert str(refusal.value) == reason


@pytest.mark.parametrize(
    ("command", "spec"),
    [pytest.param(name, spec, id=f"{name} {spec.flag}") for name, spec in EVERY_OPTION],
)
def test_a_default_is_read_back_from_the_configuration_that_prints_it(command: str, spec: Spec):
    if spec.default is None:
        return
    printed = tomllib.loads(f"value = {toml_value(spec.default)}")["value"]
    assert parse_value(spec, printed, source=spec.flag) == spec.default


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("dial-augment", {"max-per-template": "all"}),
        ("dial-freq", {"ignore": "none", "memory": "2GiB", "log-base": "e"}),
        (
            "dial-pairs",
            {"window": "all", "split": "train=0.98,dev=0.02", "output": "{split}.jsonl"},
        ),
        ("dial-train", {"method": "dialoguecse", "negatives": "all", "snapshot-every": "epoch"}),
    ],
)
def test_a_printed_configuration_gives_the_same_options_again(command: str, flags: dict[str, str]):
    found = COMMANDS[command]
    options, origins = found.resolve(flags)
    printed = tomllib.loads(toml(found.specs, options, origins))
    again, _ = resolve(found.options, [Layer("run.toml", printed)])
    assert again == options


def test_a_configuration_is_read_as_a_text_editor_of_windows_writes_it(tmp_path: Path):
    path = tmp_path / "run.toml"
    path.write_bytes(b'\xef\xbb\xbfwindow = [1, 2]\r\nhelp = """a\r\nb"""\r\n')
    assert read_toml(path) == {"window": [1, 2], "help": "a\nb"}


def test_half_a_dialogue_in_a_configuration_is_refused_not_cut_to_none():
    pairs = COMMANDS["dial-pairs"]
    with pytest.raises(ConfigError, match=r"run.toml: limit: 0.5: expected a whole number"):
        resolve(pairs.options, [Layer("run.toml", {"limit": 0.5})])

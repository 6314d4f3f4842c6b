"""Options: one field is flag, key, variable and line of help."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dialtools.errors import ConfigError
from dialtools.options import Layer, RunOptions, environment, option, resolve
from dialtools.values import int_list


@dataclass
class Options(RunOptions):
    window: tuple[int, ...] = option((1,), help="window sizes", parse=int_list)
    min_words: int = option(0, help="words")
    rate: float | None = option(None, help="rate")
    keep: bool = option(True, help="keep")
    kind: str = option("a", help="kind", choices=("a", "bb"))


def test_the_first_layer_that_has_a_key_wins_and_is_named():
    options, origins = resolve(
        Options,
        [Layer("flag", {"window": "1,2,3"}), Layer("run.toml", {"window": [9], "rate": 0.5})],
    )
    assert (options.window, options.rate, options.min_words) == ((1, 2, 3), 0.5, 0)
    assert (origins["window"], origins["rate"], origins["min-words"]) == (
        "flag",
        "run.toml",
        "default",
    )


def test_a_wrong_value_of_a_variable_is_told_by_the_name_of_the_variable():
    variables = environment(Options, "dial-pairs", {"DIAL_PAIRS_WINDOW": "wide"})
    with pytest.raises(ConfigError, match=r"^DIAL_PAIRS_WINDOW: 'wide'"):
        resolve(Options, [variables])


def test_environment_variables_carry_the_name_of_the_command():
    layer = environment(
        Options,
        "dial-pairs",
        {"DIAL_PAIRS_MIN_WORDS": "4", "DIAL_EMBED_RATE": "1", "DIAL_PAIRS_KEEP": "no"},
    )
    options, _ = resolve(Options, [layer])
    assert (options.min_words, options.rate, options.keep) == (4, None, False)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"window": "1,x"}, "'x': expected a whole number"),
        ({"window": "0"}, "1 or more"),
        ({"min-words": "x"}, "whole number"),
        ({"kind": "c"}, "choose from a, bb"),
        ({"keep": "maybe"}, "true or false"),
        ({"windw": "1"}, "unknown key 'windw'"),
    ],
)
def test_a_value_that_cannot_be_read_says_what_is_allowed(values: dict, says: str):
    with pytest.raises(ConfigError, match=says):
        resolve(Options, [Layer("flag", values)])

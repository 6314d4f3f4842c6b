"""Options: one field is flag, key, variable and line of help."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

import pytest
from all_commands import COMMANDS, EVERY_OPTION

from dialtools.elsewhere import INPUTS, OURS
from dialtools.errors import ConfigError
from dialtools.options import (
    Companion,
    Layer,
    RunOptions,
    Spec,
    environment,
    idle_variables,
    option,
    parse_value,
    resolve,
    specs,
)
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


def test_each_name_of_other_tools_leads_from_a_command_without_it_to_options_that_it_has():
    keys = {name: {spec.key for spec in command.specs} for name, command in COMMANDS.items()}
    for name, ours in OURS.items():
        assert any(name not in known and known & {*ours} for known in keys.values()), name
        assert {*ours} <= set().union(*keys.values()), name
    assert not {*INPUTS} & OURS.keys()


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


HOW = """
    address bounds cache checkpoint-every color config coordinates debug device dry-run
    engine fail-if-worse fail-under jobs json memory metric nproc on-error output
    overwrite parts plot print-config quiet report resume save-book save-episodes
    save-router save-summary save-templates save-transform shard table tensorboard threads
    verbose workers
"""


def test_options_that_only_say_how_a_run_goes_leave_its_result_and_its_job_alone():
    """All others are compared on --resume, and told in the provenance of an output."""
    how, rest = (
        {spec.flag[2:] for _, spec in EVERY_OPTION if spec.how is wanted}
        for wanted in (True, False)
    )
    assert how == set(HOW.split())
    assert how & rest == {"device", "json", "metric"}, (
        "where vectors, counts or figures depend on it"
    )


@dataclass
class Chosen(Options):
    most: int = option(3, help="of kind bb", goes_with=("kind", ("bb",)))
    least: int = option(1, help="of no rate", not_with="rate")


def test_what_an_option_goes_with_is_asked_for_by_values_of_others_and_by_whoever_says_it():
    for flags in ({"most": "4", "kind": "bb"}, {"kind": "a"}, {"least": "2"}):
        resolve(Chosen, [Layer("flag", flags)])
    for flags, says in (
        ({"most": "4"}, "--most goes with --kind bb"),
        ({"most": "3"}, "--most goes with --kind bb"),  # its default, said aloud
        ({"least": "2", "rate": "1"}, "--least has no meaning beside --rate"),
    ):
        with pytest.raises(ConfigError, match=f"^{says}$"):
            resolve(Chosen, [Layer("flag", flags)])


def test_what_has_no_meaning_in_a_variable_or_a_configuration_counts_as_not_given():
    for name in ("environment", "run.toml"):
        resolve(Chosen, [Layer("flag", {}), Layer(name, {"most": "3"})])
        layers = [Layer("flag", {"rate": "1"}), Layer(name, {"most": "4", "least": "2"})]
        options, origins = resolve(Chosen, layers)
        assert (options.rate, options.most, options.least) == (1, 3, 1)
        assert origins["most"] == origins["least"] == "default"
        assert resolve(Chosen, [Layer("flag", {"kind": "bb"}), *layers[1:]])[0].most == 4


@dataclass
class Chained(Chosen):
    over: int = option(0, help="of any most", goes_with="given")
    under: int = option(0, help="of none", not_with="given")
    given: int = option(0, help="of kind bb", goes_with=("kind", ("bb",)))


def test_what_rests_on_an_option_without_a_meaning_is_judged_without_it():
    """dial-pairs --kind dialogue, with `summary` and `split` in a configuration, say."""
    layers = [Layer("flag", {}), Layer("run.toml", {"under": "2", "over": "1", "given": "3"})]
    options, _ = resolve(Chained, layers)
    assert (options.given, options.under, options.over) == (0, 2, 0)
    with pytest.raises(ConfigError, match=r"^--over goes with --given$"):
        resolve(Chained, [Layer("flag", {"over": "1"}), Layer("environment", {"given": "3"})])
    assert resolve(Chained, [Layer("flag", {"under": "1"}), layers[1]])[0].under == 1


NEEDS = {
    "train": {"test": "t"},
    "groups": {"min-cosine": "0.5"},
    "ner": {"book": "b.json"},
    "split": {"output": "{split}"},
}
"""What an option is not given without."""


def another(spec: Spec) -> str:
    """Return a value of an option that is not its default."""
    texts = (*(spec.choices or ()), "7", "0.5", "true", "false", "a,b", "day-first")
    texts += ("a=1", "5m")
    return next(
        text
        for text in texts
        if takes(spec, text) and parse_value(spec, text, source="") != spec.default
    )


def beside(companion: Companion, known: dict[str, Spec], *, holds: bool) -> dict[str, str]:
    """Return the flags of a companion that is given, or is not; or of a value that is meant."""
    if isinstance(companion, str):
        spec = known[companion.split()[0]]
        own = beside(spec.goes_with, known, holds=True) if spec.goes_with else {}
        return own | {spec.key: another(spec)} if holds else {}
    spec, allowed = known[companion[0]], companion[1]
    if spec.choices:
        assert {*allowed} < {*spec.choices}
        return {spec.key: next(text for text in spec.choices if (text in allowed) is holds)}
    return {spec.key: str(allowed[0]).lower()} if holds else {}


def is_default(key: str, text: str, known: dict[str, Spec]) -> bool:
    spec = next(spec for spec in known.values() if spec.key == key)
    return parse_value(spec, text, source="") == spec.default


@pytest.mark.parametrize(
    ("command", "spec"),
    [
        pytest.param(command, spec, id=f"{command} {spec.flag}")
        for command, spec in EVERY_OPTION
        if spec.goes_with or spec.not_with
    ],
)
def test_what_has_no_meaning_beside_another_option_is_refused(command: str, spec: Spec):
    options = COMMANDS[command].options
    known = {each.name: each for each in specs(options)}
    refused: list[tuple[dict[str, str], str]] = []
    if spec.goes_with:
        refused.append((beside(spec.goes_with, known, holds=False), "goes with --"))
    if spec.not_with:
        meant = beside(spec.goes_with, known, holds=True) if spec.goes_with else {}
        meant = {key: text for key, text in meant.items() if not is_default(key, text, known)}
        flags = meant | beside(spec.not_with, known, holds=True)
        refused.append((flags, "has no meaning beside --"))
    for flags, says in refused:
        flags |= {spec.key: another(spec), "print-config": "true"}
        flags = {key: value for flag in flags for key, value in NEEDS.get(flag, {}).items()} | flags
        flag = f"--no-{spec.key}" if flags[spec.key] == "false" else spec.flag
        with pytest.raises(ConfigError, match=f"^{flag} {says}"):
            resolve(options, [Layer("flag", flags)])


PROBES = ("-1", "0", "1e-9", "0.5", "1", "1.5", "2", "3", "4", "5")
TAKEN = {  # of the probes, by what they are tried on
    "0 1e-9 0.5 1 1.5 2 3 4 5": """clip epochs fail-if-worse
        classify-weight grid head-lr-multiplier hold-weight
        lr relative-margin smooth weight-decay""",
    "1e-9 0.5 1 1.5 2 3 4 5": """lr temperature pair-temperature
        teacher-weight template-temperature""",
    "0 1e-9 0.5 1": "compress guide-margin mask-share sweep-compress warmup",
    "-1 0 1e-9 0.5 1": "guide-floor min-cosine",
    "1e-9 0.5": "test-share",
    "0 1e-9 0.5": "dropout ema validation-share warmup",
    "1e-9 0.5 1": "alpha half-at lr merge-with-start precision recall sample share",
    "1 1.5 2 3 4 5": "perplexity",
    "1.5 2 3 4 5": "log-base",
    "0 1 2 3 4 5": """batch-tokens delimiter follow freeze hidden limit
        max-rows max-steps micro-batch-tokens min-steps min-turns min-words patience
        range-min runners-up seed stability threads
        train-seed validate-every window""",
    "1 2 3 4 5": """batch-size checkpoint-every clusters context-turns dimensions epochs
        first jobs k layers limit matryoshka max-masked max-per-template max-words min-count
        min-samples nearest
        nearest-templates negatives nproc num-negatives parts per-answer per-text
        patience permutations positives range-max restarts runs shard-rows
        shots snapshot-every top top-k turns under-tokens validate-every window workers""",
    "1e-9 0.5 1 1.5 2": "distance",
    "2 3 4 5": "batch-size candidates max-rows max-tested min-size",
    "4 5": "context-max-length max-length response-max-length",
}


def takes(spec: Spec, text: str) -> bool:
    try:
        parse_value(spec, text, source=spec.flag)
    except ConfigError:
        return False
    return True


def test_numbers_have_the_bounds_that_their_options_say():
    found: dict[str, set[str]] = {}
    for _, spec in EVERY_OPTION:
        probes = [probe for probe in PROBES if takes(spec, probe)]
        of_numbers = not any(takes(spec, text) for text in ("words", "k=1", "1GB"))
        if probes and len(probes) < len(PROBES) and of_numbers and spec.type is not bool:
            found.setdefault(" ".join(probes), set()).add(spec.flag[2:])
    assert found == {probes: set(flags.split()) for probes, flags in TAKEN.items()}


def test_a_variable_that_is_nearly_an_options_is_told_and_others_are_not():
    environ = ("DIAL_PAIRS_WINDO", "DIAL_PAIRS_SERVICE_HOST", "DIAL_TRAIN_WINDO")
    told = idle_variables(environ, "dial-pairs", specs(Options))
    hint = "did you mean DIAL_PAIRS_WINDOW?"
    assert told == {"DIAL_PAIRS_WINDO": hint, "DIAL_PAIRS_SERVICE_HOST": ""}
    task = idle_variables(["DIAL_EVAL_INTENT_WINDOW"], "dial-eval intent", specs(Options))
    assert task == {"DIAL_EVAL_INTENT_WINDOW": "did you mean DIAL_EVAL_WINDOW?"}


def test_a_variable_of_any_task_of_a_group_is_not_idle_variables(scripts, tmp_path):
    (tmp_path / "v.jsonl").write_text('{"text": "a", "embedding": [1, 0]}\n')
    environ = {**os.environ, "DIAL_EVAL_SHOTS": "1", "DIAL_EVAL_SHOT": "2"}
    command = [scripts / "dial-eval", "space", tmp_path / "v.jsonl"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert "DIAL_EVAL_SHOTS " not in done.stderr
    assert (
        "dial-eval space: DIAL_EVAL_SHOT sets no option; did you mean DIAL_EVAL_SHOTS?"
        in done.stderr
    )


def test_a_flag_without_a_text_is_refused_whatever_it_is_of():
    """`--part "$PART"` would else be as no --part at all, where nobody set PART."""
    for name, spec in EVERY_OPTION:
        for text in ("", " , ") if spec.lists else ("",):
            if spec.type is not bool:
                with pytest.raises(ConfigError, match=f"{spec.flag}: .*expected a text"):
                    COMMANDS[name].run([f"{spec.flag}={text}"])

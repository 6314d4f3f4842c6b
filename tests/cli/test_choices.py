"""Choices come from tables, are shown where a user looks, and are completed."""

from __future__ import annotations

import ast
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from all_commands import COMMANDS, EVERY_OPTION
from at_work import ended

from dialtools.cli._help import MANY, help_text, value_name
from dialtools.cli._man import documents
from dialtools.cli._roff import roff
from dialtools.errors import ConfigError
from dialtools.options import Spec, parse_value

PACKAGE = Path(__file__).resolve().parents[2] / "dialtools"
NONSENSE = "no such value"
PAGES = documents()

with_choices = pytest.mark.parametrize(
    ("command", "spec"),
    [
        pytest.param(name, spec, id=f"{name} {spec.flag}")
        for name, spec in EVERY_OPTION
        if spec.choices
    ],
)


def test_every_option_with_a_closed_set_of_values_has_choices():
    for command, spec in EVERY_OPTION:
        if spec.parse is None or spec.choices:
            continue
        try:
            parse_value(spec, NONSENSE, source=spec.flag)
        except ConfigError as error:
            assert "choose from" not in str(error), f"{command} {spec.flag}"


@with_choices
def test_choices_are_named_in_help_and_all_of_them_on_the_man_page(command: str, spec: Spec):
    page = PAGES[f"man/{command.split()[0]}.1"]
    assert roff(value_name(spec)) in page
    shown = f"{value_name(spec)} {help_text(spec)}"
    printed = f"{value_name(spec)} {help_text(spec, all_choices=True)}"
    assert spec.choices
    assert len(spec.choices) > MANY or all(choice in shown for choice in spec.choices)
    assert all(choice in printed for choice in spec.choices)


def test_choices_that_the_text_explains_are_not_listed_again():
    ignore = next(spec for spec in COMMANDS["dial-freq"].specs if spec.name == "ignore")
    assert "punct (punctuation)" in help_text(ignore)
    assert "some of" not in help_text(ignore)


@with_choices
def test_choices_are_completed(command: str, spec: Spec):
    parser = COMMANDS[command].click_command()
    context = click.Context(parser)
    parameter = next(p for p in parser.params if p.name == spec.name)
    words = [item.value for item in parameter.shell_complete(context, "")]
    assert spec.choices and words == [word.removesuffix("FILE") for word in spec.choices]
    if spec.lists:
        begun = f"{words[0]},{words[1][:2]}"
        assert f"{words[0]},{words[1]}" in [
            item.value for item in parameter.shell_complete(context, begun)
        ]


@pytest.mark.parametrize(
    ("command", "flag", "begun", "words", "paths"),
    [
        ("dial-embed", "transform", "w", ["whiten"], True),
        ("dial-augment", "ner", "", ["rules"], True),
        ("dial-augment", "max_per_template", "a", ["all"], False),
        ("dial-pairs", "on_error", "q", ["quarantine="], False),
    ],
)
def test_words_among_other_values_are_completed(
    command: str, flag: str, begun: str, words: list[str], paths: bool
):
    parser = COMMANDS[command].click_command()
    parameter = next(p for p in parser.params if p.name == flag)
    offered = parameter.shell_complete(click.Context(parser), begun)
    assert [item.value for item in offered if item.type == "plain"] == words
    assert any(item.type == "file" for item in offered) is paths


def test_a_shell_is_told_the_choices_of_a_task(scripts: Path):
    asked = {
        "_DIAL_EVAL_COMPLETE": "bash_complete",
        "COMP_WORDS": "dial-eval intent --method k",
        "COMP_CWORD": "3",
    }
    answer = ended(scripts / "dial-eval", env={**os.environ, **asked})
    assert answer.stdout == b"plain,knn\n"


def test_a_shell_is_told_the_shipped_suites_and_left_to_complete_files(scripts: Path):
    asked = {
        "_DIAL_EVAL_COMPLETE": "bash_complete",
        "COMP_WORDS": "dial-eval suite ds",
        "COMP_CWORD": "2",
    }
    answer = ended(scripts / "dial-eval", env={**os.environ, **asked})
    assert answer.stdout == b"plain,dse\nfile,ds\n"


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["dial-pairs", "--kind", "=", "s"], ["self", "same-answer", "same-label"]),
        (["dial-pairs", "--color", "="], ["auto", "always", "never"]),
        (["dial-embed", "--transform", "=", "c"], ["center", "c d.csv"]),
    ],
)
def test_bash_offers_what_may_follow_an_equals_sign_names_before_files(
    words: list[str], offers: list[str], scripts: Path, tmp_path: Path
):
    (tmp_path / "c d.csv").touch()
    line = " ".join(f"'{word}'" for word in words)
    ask = f"""
        {PAGES[f"completions/bash/{words[0]}"]}
        compopt() {{ :; }}
        COMP_WORDS=({line}) COMP_CWORD={len(words) - 1}
        _{words[0].replace("-", "_")}_completion {scripts / words[0]}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    answer = ended("bash", "-c", ask, cwd=tmp_path, text=True)
    assert answer.stdout.splitlines() == offers


ASKING = {
    "zsh": """
        compdef() {{ : }}
        compadd() {{ print -rl -- $completions }}
        source {script}
        words=({line}) CURRENT=$#words
        {function}
    """,
    "fish": "source {script}; complete --do-complete '{line}'",
}
SCRIPTS = {"zsh": "completions/zsh/_{}", "fish": "completions/fish/{}.fish"}


@pytest.mark.parametrize("shell", ASKING)
@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("dial-pairs --kind s", {"self", "same-answer", "same-label"}),
        ("dial-pairs --kind=s", {"--kind=self", "--kind=same-answer", "--kind=same-label"}),
        ("dial-freq --ignore punct,d", {"punct,digits"}),
    ],
)
def test_zsh_and_fish_offer_the_whole_word(shell: str, line: str, offers: set[str], scripts: Path):
    if not (found := shutil.which(shell)):
        pytest.skip(f"needs {shell}")
    command = line.split()[0]
    ask = ASKING[shell].format(
        script=PACKAGE.parent / SCRIPTS[shell].format(command),
        line=line,
        function=f"_{command.replace('-', '_')}_completion",
    )
    path = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    quiet = {"zsh": "-fc", "fish": "-Nc"}[shell]
    answer = ended(found, quiet, ask, env=path, text=True)
    assert set(answer.stdout.split()) == offers


def literal_choices() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield where choices are written as names one by one, and the names."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.keyword) or node.arg != "choices":
                continue
            if isinstance(node.value, ast.Tuple | ast.List):
                where = f"{path.relative_to(PACKAGE)}:{node.value.lineno}"
                yield where, tuple(ast.unparse(name) for name in node.value.elts)


def tables() -> Iterator[tuple[str, frozenset[str]]]:
    """Yield where each table of the package is, and its keys as they are written."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            if isinstance(node.value, ast.Dict):
                where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                yield where, frozenset(ast.unparse(key) for key in node.value.keys if key)


def test_no_choices_are_written_twice():
    """Two words that are opposites (keep, drop) are no list."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for where, names in literal_choices():
        if len(names) > 2:
            places[tuple(sorted(names))].append(where)
    assert {names: found for names, found in places.items() if len(found) > 1} == {}


def test_no_choices_are_written_beside_the_table_that_has_them():
    keys = {names: table for table, names in tables()}
    twins = [
        (where, keys[frozenset(names)])
        for where, names in literal_choices()
        if frozenset(names) in keys
    ]
    assert twins == []


def test_a_flag_shows_its_default():
    for command, spec in EVERY_OPTION:
        plain = spec.default not in (None, False, True, (), "")
        if plain and spec.shown is None:
            value = spec.default
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            assert f"[{shown}]" in help_text(spec), f"{command} {spec.flag}"
